import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;

/** System.out.printf of several fields; told `large`, into a buffer without flushes: the remedy. */
class Printf {
    public static void main(String[] arguments) {
        int lines = Integer.parseInt(arguments[arguments.length - 1]) / 4;
        if (arguments[0].equals("large")) {
            System.setOut(new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false));
        }
        for (int n = 0; n < lines; n++) {
            System.out.printf("%d %.3f%n", n, n * 0.37);
        }
        System.out.flush();
    }
}
