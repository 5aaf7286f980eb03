# A priority queue that says what it takes out, a line each, and flushes; told `large`, in a large buffer that is not flushed: the remedy.
large = ARGV[0] == "large"
lines = ARGV[-1].to_i
if large
  STDOUT.sync = false
  STDOUT.flush_on_newline = false
  STDOUT.buffer_size = 65536
end
heap = [] of Int32
state = 5_u32
lines.times do |n|
  3.times do
    state = state &* 1664525_u32 &+ 1013904223_u32
    heap.push((state >> 12).to_i32)
    at = heap.size - 1
    while at > 0 && heap[(at - 1) // 2] > heap[at]
      heap.swap(at, (at - 1) // 2)
      at = (at - 1) // 2
    end
  end
  heap.truncate(0, 200) if heap.size > 400
  STDOUT.print "job ", n, " of urgency ", heap[0], " among ", heap.size, '\n'
  STDOUT.flush unless large
end
STDOUT.flush
