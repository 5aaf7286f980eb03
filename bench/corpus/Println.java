/** System.out: every print is flushed. */
class Println {
    public static void main(String[] arguments) {
        int lines = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 20000;
        for (int n = 0; n < lines; n++) {
            System.out.println("line " + n);
        }
    }
}
