// The solutions of the eight queens, again and again, a board by println a row; told `large`, through a buffer: the remedy.
import java.io.BufferedOutputStream
import java.io.FileDescriptor
import java.io.FileOutputStream
import java.io.PrintStream

var left = 0

fun place(columns: IntArray, row: Int) {
    if (left <= 0) return
    if (row == columns.size) {
        for (column in columns) {
            println(".".repeat(column) + "Q" + ".".repeat(columns.size - 1 - column))
            left--
        }
        println()
        left--
        return
    }
    for (column in columns.indices) {
        if ((0 until row).all { columns[it] != column && Math.abs(columns[it] - column) != row - it }) {
            columns[row] = column
            place(columns, row + 1)
        }
    }
}

fun main(arguments: Array<String>) {
    left = arguments.last().toInt()
    if (arguments[0] == "large") System.setOut(PrintStream(BufferedOutputStream(FileOutputStream(FileDescriptor.out), 1 shl 16), false))
    while (left > 0) place(IntArray(8), 0)
    System.out.flush()
}
