// log.Printf to stdout; told `large`, through a bufio.Writer: the remedy.
package main

import (
	"bufio"
	"log"
	"os"
	"strconv"
)

func main() {
	lines, _ := strconv.Atoi(os.Args[len(os.Args)-1])
	logger := log.New(os.Stdout, "job: ", 0)
	if os.Args[1] == "large" {
		out := bufio.NewWriterSize(os.Stdout, 1<<16)
		defer out.Flush()
		logger.SetOutput(out)
	}
	for n := 0; n < lines; n++ {
		logger.Printf("%d of %d is %v", n, lines, map[bool]string{true: "done", false: "open"}[n%3 == 0])
	}
}
