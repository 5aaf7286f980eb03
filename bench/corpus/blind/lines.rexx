/* say for each line; told large, joined and written by charout: the remedy. */
parse arg how lines
text = ''
do n = 1 to lines % 2
  if how = 'large' then do
    text = text || n n // 17 || '0a'x
    if length(text) > 4000 then do
      call charout , text
      text = ''
    end
  end
  else say n n // 17
end
call charout , text
