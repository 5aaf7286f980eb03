// A write for each call; fixed: a buffer of 64 KiB that println does not flush.
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;

public class Rung {
    public static void main(String[] arguments) {
        boolean onStderr = System.getenv("STREAM") != null;
        PrintStream out = onStderr ? System.err : System.out;
        if ("fixed".equals(System.getenv("MODE"))) {
            FileOutputStream file = new FileOutputStream(onStderr ? FileDescriptor.err : FileDescriptor.out);
            out = new PrintStream(new BufferedOutputStream(file, 1 << 16), false);
        }
        long lines = Long.parseLong(arguments[0]);
        for (long i = 0; i < lines; i++) {
            out.print("line ");
            out.println(i);
        }
        out.flush();
    }
}
