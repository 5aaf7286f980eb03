// A template engine: text/template writes each of its pieces at once; told `large`, into a bufio.Writer: the remedy.
package main

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"text/template"
)

type Line struct {
	What   string
	Number int
	Price  float64
}

type Letter struct {
	Name  string
	Lines []Line
}

const text = `Dear {{.Name}},
you have ordered:
{{range .Lines}}  {{printf "%4d" .Number}} of {{.What}} at {{.Price}}{{if gt .Number 5}} (many){{end}}
{{end}}
`

func main() {
	pieces, _ := strconv.Atoi(os.Args[len(os.Args)-1])
	var out io.Writer = os.Stdout
	if os.Args[1] == "large" {
		buffered := bufio.NewWriterSize(os.Stdout, 1<<16)
		defer buffered.Flush()
		out = buffered
	}
	compiled := template.Must(template.New("letter").Parse(text))
	for n := 0; n < pieces/20; n++ {
		letter := Letter{"customer " + strconv.Itoa(n), nil}
		for k := 0; k < 4; k++ {
			letter.Lines = append(letter.Lines, Line{"thing " + strconv.Itoa(k*n%17), (k + n) % 9, float64(n%40) / 4})
		}
		if err := compiled.Execute(out, letter); err != nil {
			panic(err)
		}
	}
}
