// fmt.Printf of structs; told `large`, through a bufio.Writer: the remedy.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
)

type item struct {
	Id    int
	Name  string
	Sizes []int
}

func main() {
	lines, _ := strconv.Atoi(os.Args[len(os.Args)-1])
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer out.Flush()
	for n := 0; n < lines; n++ {
		one := item{n, "item " + strconv.Itoa(n%9), []int{n % 3, n % 5}}
		if os.Args[1] == "large" {
			fmt.Fprintf(out, "%+v\n", one)
		} else {
			fmt.Printf("%+v\n", one)
		}
	}
}
