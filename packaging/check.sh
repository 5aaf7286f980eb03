#!/bin/sh
# Tries the packages as far as this machine can: packaging/check.sh [PROGRAM], by default target/release/outpace, which is built already.
# Nothing is compiled and nothing fetched: what the recipes would build is PROGRAM. Missing tools are reported and skipped.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=$(realpath "${1:-$root/target/release/outpace}")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -1)
work=$(mktemp -d "${TMPDIR:-/tmp}/outpace-packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
skip() { printf 'skipped: %s\n' "$*"; }

# What every package has to install below a directory, and that the program runs there. Debian has a folder of its own for
# zsh's completions of packages.
installed() {
    zsh=share/zsh/${3:-site-functions}/_outpace
    for file in bin/outpace share/man/man1/outpace.1 share/man/man1/outpace-trace.1 share/bash-completion/completions/outpace \
        "$zsh" share/fish/vendor_completions.d/outpace.fish; do
        find "$1/$file" "$1/$file.gz" 2>/dev/null | grep -q . || { echo "$2: no $file"; exit 1; }
    done
    "$1/bin/outpace" bench --list | grep -q lines/println || { echo "$2: the program does not run"; exit 1; }
    echo "$2: whole"
}

# The release's archive, with the program where the recipes would have built it, and a cargo that has nothing left to do.
source=$work/outpace-$version
mkdir -p "$source/target/release" "$work/bin"
(cd "$root" && git archive HEAD) | tar -x -C "$source"
cp "$program" "$source/target/release/outpace"
printf '#!/bin/sh\n' >"$work/bin/cargo"
chmod 755 "$work/bin/cargo"

"$root/packaging/assets.sh" "$program" "$work/assets"
installed "$work/assets" assets.sh

if command -v ruby >/dev/null; then
    # A formula as brew reads it: every word that this one uses, and no other.
    (cd "$source" && PATH=$work/bin:$PATH ruby -w -rpathname -e '
        class Formula
          DSL = %i[desc homepage url sha256 license depends_on]
          class << self
            DSL.each { |word| define_method(word) { |*all| (@said ||= {})[word] = all } }
            attr_reader :said, :check
            def test(&block) = @check = block
          end
          def initialize(prefix) = @prefix = Pathname(prefix)
          attr_reader :prefix
          def bin = prefix/"bin"
          def system(*words) = Kernel.system(*words.map(&:to_s)) || abort("#{words} failed")
          def shell_output(line) = `#{line}`.tap { $?.success? || abort("#{line} failed") }
          def assert_match(text, said) = said.include?(text) || abort("no #{text} in #{said}")
        end
        load ARGV[0]
        missing = Formula::DSL - Outpace.said.keys
        abort "it does not say #{missing}" unless missing.empty?
        abort "desc is longer than 80" if Outpace.said[:desc][0].size > 80
        abort "url is not of version #{ARGV[2]}" unless Outpace.said[:url][0].end_with?("v#{ARGV[2]}.tar.gz")
        formula = Outpace.new(ARGV[1])
        formula.install
        formula.instance_exec(&Outpace.check)
    ' "$root/packaging/homebrew/outpace.rb" "$work/brew" "$version")
    installed "$work/brew" 'Homebrew formula'
else
    skip 'ruby is missing'
fi

if command -v nix >/dev/null; then
    # In the place of nixpkgs, what the flake asks of it: its install phase runs as nixpkgs would run it.
    mkdir "$work/nixpkgs"
    cat >"$work/nixpkgs/flake.nix" <<'NIX'
{
  outputs = { self }: {
    lib = {
      genAttrs = names: f: builtins.listToAttrs (map (name: { inherit name; value = f name; }) names);
      licenses = { mit = "mit"; asl20 = "asl20"; };
    };
    legacyPackages = let
      packages = system: {
        lib = self.lib;
        rustPlatform.buildRustPackage = { pname, version, src, cargoLock, cargoBuildFlags, doCheck, postInstall, meta }:
          assert builtins.pathExists cargoLock.lockFile;
          derivation {
            name = "${pname}-${version}";
            inherit system src postInstall;
            program = builtins.getEnv "PROGRAM";
            PATH = builtins.getEnv "PATH";
            builder = "/bin/sh";
            args = [ "-euc" "cp -r $src source; chmod -R u+w source; cd source; mkdir -p $out/bin; cp $program $out/bin/outpace; patchShebangs() { :; }; eval \"$postInstall\"" ];
          };
      };
    in { x86_64-linux = packages "x86_64-linux"; aarch64-linux = packages "aarch64-linux"; };
  };
}
NIX
    export NIX_STORE_DIR="$work/nix/store" NIX_STATE_DIR="$work/nix/var" NIX_LOG_DIR="$work/nix/log" NIX_CONF_DIR="$work/nix/etc"
    mkdir -p "$NIX_CONF_DIR"
    printf 'experimental-features = nix-command flakes\nsubstitute = false\nsandbox = false\nbuild-users-group =\n' >"$NIX_CONF_DIR/nix.conf"
    # Its cache goes below HOME, where rustup, for Debian, looks for its settings.
    HOME=$work PROGRAM=$program nix build --impure --no-write-lock-file --override-input nixpkgs "path:$work/nixpkgs" --out-link "$work/result" "path:$source"
    installed "$work/result" 'Nix flake'
    chmod -R u+w "$work/nix"
else
    skip 'nix is missing'
fi

if command -v makepkg >/dev/null; then
    mkdir "$work/arch"
    cp "$root/packaging/aur/PKGBUILD" "$work/arch"
    tar -czf "$work/arch/outpace-$version.tar.gz" -C "$work" "outpace-$version"
    chmod -R a+rwX "$work/arch"
    run="cd $work/arch && PATH=$work/bin:\$PATH PKGEXT=.pkg.tar.gz makepkg --nodeps --noconfirm"
    # It refuses to work for root.
    if [ "$(id -u)" = 0 ]; then setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$work/arch" sh -c "$run"; else sh -c "$run"; fi >"$work/arch/log" 2>&1 ||
        { cat "$work/arch/log"; exit 1; }
    mkdir "$work/root"
    if command -v pacman >/dev/null && [ "$(id -u)" = 0 ]; then
        mkdir -p "$work/root/var/lib/pacman"
        pacman -Udd --noconfirm --root "$work/root" --cachedir "$work/arch" --logfile /dev/null "$work"/arch/*.pkg.tar.gz >"$work/arch/log" 2>&1 ||
            { cat "$work/arch/log"; exit 1; }
        pacman -Qkk --root "$work/root" outpace
    else
        skip 'pacman is missing, or this is not root: unpacked instead of installed'
        tar -xzf "$work"/arch/*.pkg.tar.gz -C "$work/root"
    fi
    installed "$work/root/usr" 'Arch package'
else
    skip 'makepkg is missing'
fi

if command -v cargo-deb >/dev/null && command -v dpkg-deb >/dev/null; then
    (cd "$source" && rm "$work/bin/cargo" && packaging/assets.sh target/release/outpace target/assets &&
        cargo deb -p outpace-cli --no-build --quiet -o "$work/outpace.deb")
    dpkg-deb -x "$work/outpace.deb" "$work/deb"
    installed "$work/deb/usr" 'Debian package' vendor-completions
else
    skip 'cargo-deb or dpkg-deb is missing'
fi
