import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;

/** A PrintStream with a large buffer that flushes itself for each line, or, told so, does not: the remedy. */
class Autoflush {
    public static void main(String[] arguments) {
        int lines = Integer.parseInt(arguments[arguments.length - 1]);
        boolean flushes = !arguments[0].equals("large");
        FileOutputStream stdout = new FileOutputStream(FileDescriptor.out);
        PrintStream out = new PrintStream(new BufferedOutputStream(stdout, 1 << 16), flushes);
        for (int n = 0; n < lines; n++) {
            out.println(n + ": " + Integer.toHexString(n * 31));
        }
        out.flush();
    }
}
