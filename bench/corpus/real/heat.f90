! Heat in a rod: the temperatures of some places after each step, and a flush after it; with LARGE the lines are collected, and written as one.
program heat
  use, intrinsic :: iso_fortran_env, only: output_unit
  implicit none
  integer, parameter :: places = 400
  real(8) :: now(0:places + 1), next(0:places + 1)
  character(len=32) :: argument
  integer :: steps, step, i
#ifdef LARGE
  character(len=78 * 800) :: text
  integer :: used
  used = 0
#endif
  call get_command_argument(command_argument_count(), argument)
  read (argument, *) steps
  now = 0
  now(0) = 100
  next = now
  do step = 1, steps
    do i = 1, places
      next(i) = now(i) + 0.4d0 * (now(i - 1) - 2 * now(i) + now(i + 1))
    end do
    now = next
#ifdef LARGE
    write (text(used + 1:used + 77), '(i7, 7f10.4)') step, (now(i * 10), i = 1, 7)
    text(used + 78:used + 78) = new_line('a')
    used = used + 78
    if (used == len(text) .or. step == steps) then
      write (output_unit, '(a)') text(:used - 1)
      used = 0
    end if
#else
    write (output_unit, '(i7, 7f10.4)') step, (now(i * 10), i = 1, 7)
    flush (output_unit)
#endif
  end do
end program
