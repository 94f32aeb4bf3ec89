package conformance

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
)

// Known lists the project's own gaps: steps that differ from the recorded answer on purpose or for
// now, and scenarios that wait for a feature.
//
// known/differs.txt: "area/scenario#step reason", one step a line. known/waiting.txt:
// "area[/scenario] feature", where both names may be patterns with *. differs-nodes.txt,
// waiting-nodes.txt: the same, besides, where requests go to several nodes in turn. A # at the
// beginning of a line makes it a comment.
type Known struct {
	differs map[string]string // area/scenario#step → reason
	waiting []wait
}

type wait struct {
	pattern string
	feature string
}

// LoadKnown reads the lists from dir, for one server or for several nodes.
func LoadKnown(dir string, nodes bool) (*Known, error) {
	k := &Known{differs: map[string]string{}}
	differs := func(key, reason string) error {
		if _, twice := k.differs[key]; twice {
			return fmt.Errorf("%s is listed twice", key)
		}
		if _, _, err := splitStep(key); err != nil {
			return err
		}
		k.differs[key] = reason
		return nil
	}
	err := readList(path.Join(dir, "differs.txt"), differs)
	if err == nil && nodes {
		err = readList(path.Join(dir, "differs-nodes.txt"), differs)
	}
	if err != nil {
		return nil, err
	}
	waits := func(pattern, feature string) error {
		if _, err := path.Match(pattern, ""); err != nil {
			return err
		}
		k.waiting = append(k.waiting, wait{pattern, feature})
		return nil
	}
	err = readList(path.Join(dir, "waiting.txt"), waits)
	if err == nil && nodes {
		err = readList(path.Join(dir, "waiting-nodes.txt"), waits)
	}
	return k, err
}

// readList calls entry with the first word and the rest of each line that is not blank or a
// comment.
func readList(file string, entry func(key, rest string) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		if rest == "" {
			return fmt.Errorf("%s:%d: an entry needs a reason", file, n)
		}
		if err := entry(key, rest); err != nil {
			return fmt.Errorf("%s:%d: %w", file, n, err)
		}
	}
	return lines.Err()
}

// splitStep takes "area/scenario#step" apart.
func splitStep(key string) (scenario string, step int, err error) {
	scenario, number, ok := strings.Cut(key, "#")
	if !ok || !strings.Contains(scenario, "/") {
		return "", 0, fmt.Errorf("%q is not area/scenario#step", key)
	}
	step, err = strconv.Atoi(number)
	return scenario, step, err
}

// Waiting returns the feature that the scenario waits for, "" if it does not wait.
func (k *Known) Waiting(area, scenario string) string {
	for _, w := range k.waiting {
		if w.matches(area, scenario) {
			return w.feature
		}
	}
	return ""
}

// matches reports whether a pattern names the scenario, or without a slash its whole area.
func (w wait) matches(area, scenario string) bool {
	subject := area
	if strings.Contains(w.pattern, "/") {
		subject = area + "/" + scenario
	}
	ok, err := path.Match(w.pattern, subject)
	return ok && err == nil
}

// Differs returns the reason why the step is known to differ, "" if it has to agree.
func (k *Known) Differs(area, scenario string, step int) string {
	return k.differs[fmt.Sprintf("%s/%s#%d", area, scenario, step)]
}

// Check returns an error for each entry that names nothing in files, and so protects nothing.
func (k *Known) Check(files []*File) []error {
	var errs []error
	steps := map[string]int{}
	for _, f := range files {
		for _, sc := range f.Scenarios {
			steps[f.Area+"/"+sc.Name] = len(sc.Steps)
		}
	}
	for _, key := range sortedKeys(k.differs) {
		scenario, step, err := splitStep(key)
		if err != nil || step < 0 || step >= steps[scenario] {
			errs = append(errs, fmt.Errorf("differs.txt: there is no step %s", key))
		}
	}
	for _, w := range k.waiting {
		used := false
		for _, f := range files {
			for _, sc := range f.Scenarios {
				used = used || w.matches(f.Area, sc.Name)
			}
		}
		if !used {
			errs = append(errs, fmt.Errorf("waiting.txt: nothing is named %s", w.pattern))
		}
	}
	return errs
}
