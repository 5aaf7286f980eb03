// A converter from CSV to JSON, a record at a time; told `large`, into a bufio.Writer: the remedy.
package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

type Record struct {
	Name  string  `json:"name"`
	Price float64 `json:"price"`
	Count int     `json:"count"`
	Tags  []string `json:"tags"`
}

func main() {
	rows, _ := strconv.Atoi(os.Args[len(os.Args)-1])
	var table strings.Builder
	for n := 0; n < rows; n++ {
		fmt.Fprintf(&table, "\"item, no. %d\",%d.25,%d,a;b%d\n", n, n%50, n%9, n%4)
	}
	var out io.Writer = os.Stdout
	if os.Args[1] == "large" {
		buffered := bufio.NewWriterSize(os.Stdout, 1<<16)
		defer buffered.Flush()
		out = buffered
	}
	encoder := json.NewEncoder(out)
	reader := csv.NewReader(strings.NewReader(table.String()))
	for {
		row, err := reader.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			panic(err)
		}
		price, _ := strconv.ParseFloat(row[1], 64)
		count, _ := strconv.Atoi(row[2])
		encoder.Encode(Record{row[0], price, count, strings.Split(row[3], ";")})
	}
}
