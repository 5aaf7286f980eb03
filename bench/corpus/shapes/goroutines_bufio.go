// The same four goroutines share a bufio.Writer: the remedy.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"sync"
)

func main() {
	lines, _ := strconv.Atoi(os.Args[1])
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	defer out.Flush()
	var one sync.Mutex
	var all sync.WaitGroup
	for worker := 0; worker < 4; worker++ {
		all.Add(1)
		go func(worker int) {
			defer all.Done()
			for n := worker; n < lines; n += 4 {
				one.Lock()
				fmt.Fprintln(out, "worker", worker, "line", n)
				one.Unlock()
			}
		}(worker)
	}
	all.Wait()
}
