import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.util.List;

/** Records as strings by println; told `large`, into a buffer without flushes: the remedy. */
class Records {
    record Item(int id, String name, double price, List<Integer> sizes) {}

    public static void main(String[] arguments) {
        int lines = Integer.parseInt(arguments[arguments.length - 1]);
        if (arguments[0].equals("large")) {
            System.setOut(new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false));
        }
        for (int n = 0; n < lines; n++) {
            System.out.println(new Item(n, "item " + n % 9, n / 4.0, List.of(n % 3, n % 5)));
        }
        System.out.flush();
    }
}
