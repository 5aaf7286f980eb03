# sync: a write for each puts.
$stdout.sync=true; ARGV[0].to_i.times { |i| puts "line #{i}" }
