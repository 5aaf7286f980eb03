# Invoices through ERB, each written at once with $stdout.sync; told `large`, collected: the remedy.
require 'erb'
large = ARGV[0] == 'large'
$stdout.sync = true
template = ERB.new(<<~TEXT, trim_mode: '-')
  Invoice <%= number %>
  <%- items.each do |name, price| -%>
  <%= name.ljust(20) %> <%= format('%8.2f', price) %>
  <%- end -%>
  Total <%= format('%23.2f', items.sum { |_, price| price }) %>

TEXT
text = +''
(ARGV[-1].to_i / 6).times do |number|
  items = (1..4).map { |n| ["article #{(n * number) % 37}", n * 1.25 + number % 11] }
  if large
    text << template.result(binding)
    if text.bytesize > 65536
      $stdout.write(text)
      text = +''
    end
  else
    $stdout.write(template.result(binding))
  end
end
$stdout.write(text)
