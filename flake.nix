{
  description = "Measures, explains and fixes slow output of programs in any language";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = build: nixpkgs.lib.genAttrs systems (system: build nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "outpace";
          version = "0.1.0";
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "--package" "outpace-cli" ];
          # They need terminals, compilers and /proc as they are outside of a sandbox.
          doCheck = false;
          postInstall = ''
            patchShebangs packaging/assets.sh
            packaging/assets.sh $out/bin/outpace $PWD/assets
            cp -r assets/share $out/
          '';
          meta = {
            homepage = "https://github.com/outpace-rs/outpace";
            license = with pkgs.lib.licenses; [ mit asl20 ];
            mainProgram = "outpace";
            platforms = systems;
          };
        };
      });
    };
}
