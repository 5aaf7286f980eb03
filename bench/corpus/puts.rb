# puts: lines on a terminal, blocks elsewhere.
ARGV[0].to_i.times { |i| puts "line #{i}" }
