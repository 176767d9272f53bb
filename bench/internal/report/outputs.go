package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

var (
	errShort  = errors.New("a target was missed")
	errSlower = errors.New("slower by more than the noise")
)

// Outputs say what is done with a report.
type Outputs struct {
	Check bool // compare it with the targets
	JSON  bool // write JSON in place of tables
	// Files to write; "" leaves one out.
	Save, HTML, Markdown, Pictures string
}

// Finish compares the report with the targets if Check is set, and writes it. It returns an error if a target was
// missed.
func (o Outputs) Finish(r *Report, out io.Writer) error {
	if o.Check {
		r.Checks = judge(r, r.Setup.Smoke)
	}
	if o.JSON {
		if err := r.writeJSON(out); err != nil {
			return err
		}
	} else {
		r.writeTables(out)
	}
	if err := o.write(r); err != nil {
		return err
	}
	if CountShort(r.Checks) > 0 {
		return fmt.Errorf("%w: %s", errShort, describeShort(r.Checks))
	}
	return nil
}

// write writes the files that were asked for.
func (o Outputs) write(r *Report) error {
	var all []error
	for path, write := range map[string]func(io.Writer) error{
		o.Save: r.writeJSON,
		o.HTML: r.writeHTML,
	} {
		if path == "" {
			continue
		}
		var b bytes.Buffer
		if err := write(&b); err != nil {
			all = append(all, err)
			continue
		}
		all = append(all, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, b.Bytes(), 0o644))
	}
	if o.Pictures != "" {
		all = append(all, r.writePictures(o.Pictures))
	}
	if o.Markdown != "" {
		all = append(all, r.intoMarkdown(o.Markdown, o.Pictures))
	}
	return errors.Join(all...)
}

func (r *Report) writePictures(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range r.pictures() {
		if err := os.WriteFile(filepath.Join(dir, p.Name+".svg"), []byte(p.SVG()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// The tables of a Markdown file stand between these lines.
const markBegin, markEnd = "<!-- bench:begin -->", "<!-- bench:end -->"

// intoMarkdown replaces what stands between the marks of a file.
func (r *Report) intoMarkdown(path, pictures string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, found1 := strings.Cut(string(text), markBegin)
	_, after, found2 := strings.Cut(rest, markEnd)
	if !found1 || !found2 {
		return fmt.Errorf("%s: put %s and %s where the tables shall stand", path, markBegin, markEnd)
	}
	var b strings.Builder
	b.WriteString(before + markBegin + "\n")
	if err := r.writeMarkdown(&b, path, pictures); err != nil {
		return err
	}
	b.WriteString(markEnd + after)
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func (r *Report) writeMarkdown(w io.Writer, path, pictures string) error {
	for _, line := range r.headline() {
		fmt.Fprintf(w, "**%s**\n\n", line)
	}
	fmt.Fprintf(w, "%s; %s, %v.\n\n", r.machineLine(), r.Setup.Started.Format("2 January 2006"), r.Setup.Took)
	for _, c := range r.caveats() {
		fmt.Fprintf(w, "%s.\n\n", strings.ToUpper(c[:1])+c[1:])
	}
	drawn := map[string]bool{}
	for _, s := range r.sections() {
		if !drawn[s.part] {
			drawn[s.part] = true
			fmt.Fprintf(w, "### %s\n\n", strings.ToUpper(s.part[:1])+s.part[1:])
			if err := r.linkPictures(w, s.part, path, pictures); err != nil {
				return err
			}
		}
		fmt.Fprintf(w, "**%s**\n\n", strings.ToUpper(s.title[:1])+s.title[1:])
		s.table.markdown(w)
		fmt.Fprintln(w)
		for _, n := range s.notes {
			fmt.Fprintf(w, "- %s\n", n)
		}
		fmt.Fprintln(w)
	}
	return nil
}

func (r *Report) linkPictures(w io.Writer, part, path, dir string) error {
	if dir == "" {
		return nil
	}
	relative, err := filepath.Rel(filepath.Dir(path), dir)
	if err != nil {
		return err
	}
	for _, p := range r.pictures() {
		if p.Part == part {
			fmt.Fprintf(w, "![%s](%s/%s.svg)\n\n", p.Title, filepath.ToSlash(relative), p.Name)
		}
	}
	return nil
}
