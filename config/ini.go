package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// values is section → key → value.
type values map[string]map[string]string

func (v values) set(section, key, value string) {
	if v[section] == nil {
		v[section] = make(map[string]string)
	}
	v[section][key] = value
}

// remove takes a key away, and its section with the last one.
func (v values) remove(section, key string) {
	delete(v[section], key)
	if len(v[section]) == 0 {
		delete(v, section)
	}
}

// clone copies v with one more entry's room in the given section, so that readers of v never see a
// change.
func (v values) clone() values {
	c := make(values, len(v)+1)
	for section, keys := range v {
		m := make(map[string]string, len(keys)+1)
		for k, val := range keys {
			m[k] = val
		}
		c[section] = m
	}
	return c
}

// lineKind is what a line of an ini file is.
type lineKind uint8

const (
	lineNothing lineKind = iota // empty, a comment, or not understood
	lineSection
	lineValue
)

// parseLine reads one line (config:parse_fold): the header of a section, whose name is name, or a
// key with its value. A key may hold an equals sign where blanks surround the next one.
func parseLine(line string) (kind lineKind, name, value string) {
	line = stripComment(strings.TrimSpace(line))
	if rest, isHeader := strings.CutPrefix(line, "["); isHeader {
		if name, isHeader = strings.CutSuffix(rest, "]"); !isHeader || name == "" || strings.Contains(name, "]") {
			return lineNothing, "", ""
		}
		return lineSection, name, ""
	}
	name, value, found := strings.Cut(line, " = ")
	if !found {
		name, value, found = strings.Cut(line, "=")
	}
	if name = strings.TrimSpace(name); !found || name == "" {
		return lineNothing, "", ""
	}
	return lineValue, name, strings.TrimSpace(value)
}

// stripComment cuts a comment, which a semicolon begins at the start of a trimmed line or after
// white space (config:remove_comments).
func stripComment(line string) string {
	if strings.HasPrefix(line, ";") {
		return ""
	}
	for _, mark := range []string{" ;", "\t;"} {
		if i := strings.Index(line, mark); i >= 0 {
			line = line[:i]
		}
	}
	return strings.TrimSpace(line)
}

// splitLines splits a text at any end of a line.
func splitLines(text []byte) []string {
	const mark = "\ufeff" // some editors begin files with it
	return strings.Split(lineEnds.Replace(strings.TrimPrefix(string(text), mark)), "\n")
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x1a", "\n")

// readINI adds the settings of an ini text, which is that of a file, to a layer. Lines that it does
// not understand, and those before the first section, are skipped; an empty value unsets a key.
func readINI(l layer, text []byte, file string) {
	section := ""
	for _, line := range splitLines(text) {
		switch kind, name, value := parseLine(line); {
		case kind == lineSection:
			section = name
		case kind == lineNothing || section == "":
		case value == "":
			l.remove(section, name)
		default:
			l.set(section, name, value, file)
		}
	}
}

// editINI returns text with the key set to value, or without the key when value is nil. All other
// lines stay as they are, as in CouchDB's config_writer. What the file cannot hold, since it would
// be read back as something else, is refused with ErrSection, ErrKey or ErrValue: CouchDB writes
// it, and has other settings after its next start.
func editINI(text []byte, section, key string, value *string) ([]byte, error) {
	if value != nil {
		kind, name, _ := parseLine("[" + section + "]")
		if kind != lineSection || name != section {
			return nil, ErrSection
		}
		kind, name, read := parseLine(key + " = " + *value)
		if kind != lineValue || name != key {
			return nil, ErrKey
		}
		if read != *value {
			return nil, ErrValue
		}
	}
	lines := trimBlank(splitLines(text))
	var out []string
	inSection, done := false, false
	add := func() {
		if value != nil && !done {
			out = append(trimBlank(out), key+" = "+*value)
		}
		done = true
	}
	for _, line := range lines {
		kind, name, _ := parseLine(line)
		switch {
		case kind == lineSection:
			if inSection && !done {
				add()
				out = append(out, "")
			}
			inSection = name == section
		case kind == lineValue && inSection && name == key:
			add()
			continue
		}
		out = append(out, line)
	}
	if !done && value != nil {
		if !inSection {
			out = trimBlank(out)
			if len(out) > 0 {
				out = append(out, "")
			}
			out = append(out, "["+section+"]")
		}
		add()
	}
	return []byte(strings.Join(out, "\n") + "\n"), nil
}

// trimBlank drops the empty lines at the end.
func trimBlank(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// writeFile replaces a file in one step, so that a crash leaves the old or the new text. A file
// that cannot be replaced, as one that a container mounts by itself, is overwritten. On a full disk
// it stays as it is. It may hold password hashes and the cookie secret: only the owner can read a
// new one; an existing one keeps its mode.
func writeFile(path string, text []byte) error {
	mode := os.FileMode(0o600)
	old, err := os.ReadFile(path)
	if err == nil && bytes.Equal(old, text) {
		return nil
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	replaceErr := replaceFile(path, text, mode)
	if replaceErr == nil || err != nil || errors.Is(replaceErr, syscall.ENOSPC) ||
		errors.Is(replaceErr, syscall.EDQUOT) {
		return replaceErr
	}
	return overwriteFile(path, int64(len(old)), text)
}

// replaceFile puts another file in the place of the one at path.
func replaceFile(path string, text []byte, mode os.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".config-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // after it was renamed there is none
	if _, err = tmp.Write(text); err == nil {
		err = tmp.Chmod(mode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// overwriteFile writes text over that of a file of the given length. What it takes more is there
// before anything is lost.
func overwriteFile(path string, length int64, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if more := int64(len(text)) - length; more > 0 {
		if _, err = file.WriteAt(bytes.Repeat([]byte("\n"), int(more)), length); err == nil {
			err = file.Sync()
		}
		if err != nil {
			return errors.Join(err, file.Truncate(length))
		}
	}
	if _, err = file.WriteAt(text, 0); err == nil {
		err = file.Truncate(int64(len(text)))
	}
	return errors.Join(err, file.Sync())
}
