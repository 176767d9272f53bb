package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/redlock-go/redlock/internal/embedded"
)

const (
	mastersEnv  = "REDLOCK_MASTERS"
	mastersFile = "masters-file"
	passMasters = "pass-masters"
)

// findURLs returns the URLs of the masters, and a function that ends those that it started.
func (m *masters) findURLs(cmd *cobra.Command) (urls []string, stop func(), err error) {
	if m.embedded {
		others := []string{"masters", mastersFile, tlsCA, tlsCert, tlsKey, tlsServerName}
		if i := slices.IndexFunc(others, cmd.Flags().Changed); i >= 0 {
			return nil, nil, usage("--embedded starts its own masters: leave out --%s", others[i])
		}
		all, err := embedded.OpenAll(embeddedCount)
		if err != nil {
			return nil, nil, &exit{1, err}
		}
		return embedded.URLs(all), func() { embedded.CloseAll(all) }, nil
	}
	urls, err = m.given(cmd)
	if err == nil && len(urls) == 0 {
		advice := "to try things out without any, use --embedded, or redlock dev in another terminal"
		if os.Getenv(tokenEnv) != "" {
			advice = "redlock run passes " + mastersEnv + " on to its command only with --" + passMasters +
				", and never the URLs of --masters"
		}
		err = usage("no masters given: use --masters or --%s, or set %s; %s", mastersFile, mastersEnv, advice)
	}
	return urls, func() {}, err
}

// given returns the URLs of the flags, or of the environment if there are no such flags.
func (m *masters) given(cmd *cobra.Command) ([]string, error) {
	file, list := setting(cmd, mastersFile), os.Getenv(mastersEnv)
	switch fromFile := cmd.Flags().Changed(mastersFile); {
	case len(m.urls) > 0 && fromFile:
		return nil, usage("--masters and --%s are two lists of masters: use one of them", mastersFile)
	case len(m.urls) > 0:
		return split(strings.Join(m.urls, ",")), nil
	case !fromFile && file != "" && list != "":
		return nil, usage("%s and %s are two lists of masters: set one of them", mastersEnv, variable(mastersFile))
	case file != "":
		return readMasters(file)
	default:
		return split(list), nil
	}
}

// readMasters returns the URLs in a file.
func readMasters(file string) ([]string, error) {
	text, err := readText(file)
	if err != nil {
		return nil, usage("--%s: %w", mastersFile, err)
	}
	var urls []string
	for line := range strings.Lines(string(text)) {
		for _, url := range split(line) {
			if strings.HasPrefix(url, "#") {
				break // the rest of the line is a comment
			}
			urls = append(urls, url)
		}
	}
	if len(urls) == 0 {
		return nil, usage("--%s: %s has no URL", mastersFile, file)
	}
	return urls, nil
}

// readText returns the contents of a file without the byte order mark with which some editors begin it.
func readText(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, fmt.Errorf("%s is UTF-16: save it as UTF-8", file)
	}
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}

// split returns the URLs of a list with commas, or with white space as in a file of them. Byte order marks separate
// URLs, too, as where files were joined. A comma within a password is written %2C.
func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == '\ufeff' || unicode.IsSpace(r) })
}
