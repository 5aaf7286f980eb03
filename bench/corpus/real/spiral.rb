# Numbers in a spiral, element by element with print, and $stdout.sync; told `large`, collected: the remedy.
large = ARGV[0] == 'large'
$stdout.sync = true
size = Math.sqrt(ARGV[-1].to_i).to_i
grid = Array.new(size) { Array.new(size) }
x = y = 0
dx, dy = 1, 0
(size * size).times do |n|
  grid[y][x] = n
  nx, ny = x + dx, y + dy
  dx, dy = -dy, dx unless nx.between?(0, size - 1) && ny.between?(0, size - 1) && grid[ny][nx].nil?
  x, y = x + dx, y + dy
end
text = +''
grid.each do |row|
  row.each_with_index do |cell, column|
    piece = cell.to_s.rjust(7) + (column == size - 1 ? "\n" : '')
    if large
      text << piece
      if text.bytesize > 65536
        $stdout.write(text)
        text = +''
      end
    else
      print piece
    end
  end
end
$stdout.write(text)
