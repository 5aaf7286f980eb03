// A digest for each line, printed in three calls; told `large`, through a buffer: the remedy.
package main

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strconv"
)

func main() {
	var out io.Writer = os.Stdout
	if os.Args[1] == "large" {
		buffered := bufio.NewWriterSize(os.Stdout, 1<<16)
		defer buffered.Flush()
		out = buffered
	}
	lines, _ := strconv.Atoi(os.Args[len(os.Args)-1])
	sum := sha256.Sum256(nil)
	for n := 0; n < lines/3; n++ {
		sum = sha256.Sum256(sum[:])
		fmt.Fprint(out, n, " ")
		fmt.Fprintf(out, "%x", sum[:8])
		fmt.Fprintln(out)
	}
}
