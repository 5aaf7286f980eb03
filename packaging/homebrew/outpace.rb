class Outpace < Formula
  desc "Measures, explains and fixes slow output of programs in any language"
  homepage "https://github.com/outpace-rs/outpace"
  url "https://github.com/outpace-rs/outpace/archive/refs/tags/v0.1.0.tar.gz"
  # Of the release's archive; a formula without it is refused.
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build
  depends_on :linux

  def install
    system "cargo", "build", "--release", "--locked", "--package", "outpace-cli"
    system "packaging/assets.sh", "target/release/outpace", prefix
  end

  test do
    assert_match "lines/println", shell_output("#{bin}/outpace bench --list")
  end
end
