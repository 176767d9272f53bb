package report

import (
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A section is one table of the report, with what one needs to read it.
type section struct {
	part  string // which part it belongs to
	title string
	table table
	notes []string
}

// table is rows of cells, the first row their heads; the first column is set left, the others right.
type table [][]string

func (t table) write(w io.Writer) {
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t {
		var line strings.Builder
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				line.WriteString("  " + cell + space)
			} else {
				line.WriteString("  " + space + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

func (t table) html(w io.Writer) {
	fmt.Fprint(w, "<div class=\"wide\"><table>\n")
	for i, row := range t {
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		fmt.Fprint(w, "<tr>")
		for _, cell := range row {
			class := ""
			if cell == fallsShort {
				class = ` class="short"`
			}
			fmt.Fprintf(w, "<%s%s>%s</%s>", tag, class, html.EscapeString(cell), tag)
		}
		fmt.Fprint(w, "</tr>\n")
	}
	fmt.Fprint(w, "</table></div>\n")
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// format writes the median with decimals places, and the extremes where there is more than one round.
func (s spread) format(decimals int) string {
	f := func(v float64) string { return strconv.FormatFloat(v, 'f', decimals, 64) }
	if s.Low == s.High {
		return f(s.Median)
	}
	return f(s.Median) + " [" + f(s.Low) + "–" + f(s.High) + "]"
}

// brief writes about three digits, and a whole number as one.
func (s spread) brief() string {
	if s.Low == s.High && s.Low == math.Trunc(s.Low) {
		return s.format(0)
	}
	return s.format(decimalsFor(s.Median))
}
