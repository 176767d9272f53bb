package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// write writes the files that were asked for.
func (o outputs) write(r *report) error {
	var all []error
	for path, write := range map[string]func(io.Writer) error{
		o.save: r.writeJSON,
		o.html: r.writeHTML,
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
	if o.pictures != "" {
		all = append(all, r.writePictures(o.pictures))
	}
	if o.markdown != "" {
		all = append(all, r.intoMarkdown(o.markdown, o.pictures))
	}
	return errors.Join(all...)
}

func (r *report) writePictures(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range r.pictures() {
		if err := os.WriteFile(filepath.Join(dir, p.name+".svg"), []byte(p.svg()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// The lines between which a file's tables are put.
const markBegin, markEnd = "<!-- bench:begin -->", "<!-- bench:end -->"

// intoMarkdown replaces what stands between the marks of a file.
func (r *report) intoMarkdown(path, pictures string) error {
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

func (r *report) writeMarkdown(w io.Writer, path, pictures string) error {
	fmt.Fprintf(w, "%s; %s, %v.\n\n", r.headline(), r.Setup.Started.Format("2 January 2006"), r.Setup.Took)
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

func (r *report) linkPictures(w io.Writer, part, path, dir string) error {
	if dir == "" {
		return nil
	}
	relative, err := filepath.Rel(filepath.Dir(path), dir)
	if err != nil {
		return err
	}
	for _, p := range r.pictures() {
		if p.part == part {
			fmt.Fprintf(w, "![%s](%s/%s.svg)\n\n", p.title, filepath.ToSlash(relative), p.name)
		}
	}
	return nil
}
