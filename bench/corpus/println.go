// fmt.Println: os.Stdout has no buffer.
package main

import (
	"fmt"
	"os"
	"strconv"
)

func main() {
	lines := 20000
	if len(os.Args) > 1 {
		lines, _ = strconv.Atoi(os.Args[1])
	}
	for n := 0; n < lines; n++ {
		fmt.Println("line", n)
	}
}
