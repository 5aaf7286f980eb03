// fmt.Println in four goroutines: a write for each line, from several threads.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

func main() {
	lines, _ := strconv.Atoi(os.Args[1])
	var all sync.WaitGroup
	for worker := 0; worker < 4; worker++ {
		all.Add(1)
		go func(worker int) {
			defer all.Done()
			for n := worker; n < lines; n += 4 {
				fmt.Println("worker", worker, "line", n)
			}
		}(worker)
	}
	all.Wait()
}
