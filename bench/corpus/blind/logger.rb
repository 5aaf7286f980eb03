# Records of the class Logger on stdout, with sync; told `large`, into a string that is written at every 64 KiB: the remedy.
require "logger"
require "stringio"
large = ARGV[0] == "large"
$stdout.sync = !large
text = StringIO.new(+"")
log = Logger.new(large ? text : $stdout)
log.formatter = proc { |severity, _, _, message| "#{severity}: #{message}\n" }
(ARGV[-1].to_i / 4).times do |n|
  log.info("request #{n} took #{n % 37} ms")
  if large && text.pos > 65_536
    $stdout.write(text.string)
    text.string = +""
  end
end
$stdout.write(text.string) if large
