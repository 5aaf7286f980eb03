/** A walk through a binary tree, in order, with System.out.print of each key and its depth; told `large`, through a buffer: the remedy. */
import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;

public class Walk {
    static class Node {
        final int key;
        Node left, right;

        Node(int key) {
            this.key = key;
        }
    }

    static Node insert(Node node, int key) {
        if (node == null) return new Node(key);
        if (key < node.key) node.left = insert(node.left, key);
        else if (key > node.key) node.right = insert(node.right, key);
        return node;
    }

    static void walk(Node node, int depth) {
        if (node == null) return;
        walk(node.left, depth + 1);
        for (int i = 0; i < depth % 4; i++) System.out.print("  ");
        System.out.print(node.key);
        System.out.print(" at depth ");
        System.out.print(depth);
        System.out.print('\n');
        walk(node.right, depth + 1);
    }

    public static void main(String[] arguments) {
        int nodes = Integer.parseInt(arguments[arguments.length - 1]) / 4;
        if (arguments[0].equals("large"))
            System.setOut(new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false));
        Node root = null;
        long state = 1;
        for (int n = 0; n < nodes; n++) {
            state = state * 6364136223846793005L + 1442695040888963407L;
            root = insert(root, (int) (state >>> 40));
        }
        walk(root, 0);
        System.out.flush();
    }
}
