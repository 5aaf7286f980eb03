import java.io.BufferedWriter;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;

/** A large buffer, wherever it goes: the remedy. */
class Buffered {
    public static void main(String[] arguments) {
        int lines = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 20000;
        FileOutputStream stdout = new FileOutputStream(FileDescriptor.out);
        PrintWriter out = new PrintWriter(new BufferedWriter(new OutputStreamWriter(stdout), 1 << 16));
        for (int n = 0; n < lines; n++) {
            out.println("line " + n);
        }
        out.flush();
    }
}
