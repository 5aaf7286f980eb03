! A flush after each line.
program lines
  character(20) :: argument
  integer :: n, count
  call get_command_argument(1, argument)
  read (argument, *) count
  do n = 1, count
    print *, 'line', n
    flush (6)
  end do
end program
