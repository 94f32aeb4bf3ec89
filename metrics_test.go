package settee

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"unicode/utf8"
)

// What the tree may have, tests and modules of their own not counted: each number only falls, the
// share of comments only rises.
const (
	maxCode         = 164_791 // lines with more than a comment
	minComments     = 13.9    // of a hundred lines that are not blank
	maxUnexplained  = 0       // functions of more than 25 lines with no comment above or inside
	maxPackageFiles = 43
	maxPackageLines = 8_000
	maxMethods      = 40
	maxWide         = 2 // of a hundred lines, more than 100 columns
)

// measures are what TestMetrics counts.
type measures struct {
	code, comments, wide int
	unexplained          []string
	files, lines         map[string]int // of each package
	methods              map[string]int // of each type
	functions            int
	dataDriven           map[string]bool // directories of tests whose cases are files
	examples             map[string]bool // packages with an Example
}

// TestMetrics holds what a reader of the tree meets to the limits above; make metrics prints it.
func TestMetrics(t *testing.T) {
	m := measure(t)
	largest := func(of map[string]int) (string, int) {
		most := ""
		for name, n := range of {
			if n > of[most] || n == of[most] && name < most {
				most = name
			}
		}
		return most, of[most]
	}
	percent := func(part, whole int) float64 { return 100 * float64(part) / float64(whole) }
	files, lines := 0, 0
	for dir := range m.files {
		files += m.files[dir]
		lines += m.lines[dir]
	}
	shown := new(strings.Builder)
	w := tabwriter.NewWriter(shown, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "limit\there\t  what")
	most := func(what string, limit, here int) {
		fmt.Fprintf(w, "≤ %d\t%d\t  %s\n", limit, here, what)
		if here > limit {
			t.Errorf("%s: %d, more than %d", what, here, limit)
		}
	}
	most("lines of code", maxCode, m.code)
	comments := percent(m.comments, m.code+m.comments)
	fmt.Fprintf(w, "≥ %.1f %%\t%.1f %%\t  lines that are comments\n", minComments, comments)
	if comments < minComments {
		t.Errorf("comments are %.1f of a hundred lines, less than %.1f", comments, minComments)
	}
	wide := percent(m.wide, lines)
	fmt.Fprintf(w, "≤ %d %%\t%.1f %%\t  lines of more than 100 columns\n", maxWide, wide)
	if wide > maxWide {
		t.Errorf("%.1f of a hundred lines have more than 100 columns, more than %d", wide, maxWide)
	}
	most("functions of more than 25 lines without a comment", maxUnexplained, len(m.unexplained))
	dir, n := largest(m.lines)
	most("lines of a package, the longest of "+dir, maxPackageLines, n)
	dir, n = largest(m.files)
	most("files of a package, the most in "+dir, maxPackageFiles, n)
	of, n := largest(m.methods)
	most("methods of a type, the most of "+of, maxMethods, n)
	fmt.Fprintf(w, "\t%d\t  packages\n\t%d\t  files\n\t%d\t  functions\n", len(m.files), files, m.functions)
	fmt.Fprintf(w, "\t%d\t  packages whose tests read cases from files\n", len(m.dataDriven))
	fmt.Fprintf(w, "\t%d\t  packages with an example\n", len(m.examples))
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + shown.String())
	t.Log("without a comment:\n" + strings.Join(m.unexplained, "\n"))
}

func measure(t *testing.T) *measures {
	t.Helper()
	m := &measures{
		files: map[string]int{}, lines: map[string]int{}, methods: map[string]int{},
		dataDriven: map[string]bool{}, examples: map[string]bool{},
	}
	for _, src := range sources(t) {
		if module(src.dir) {
			continue
		}
		if src.test {
			m.countTest(src)
			continue
		}
		m.files[src.dir]++
		m.lines[src.dir] += src.lines
		m.countLines(t, src)
		for _, decl := range src.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				m.countFunction(src, f)
			}
		}
	}
	return m
}

// module reports whether a package belongs to a module of its own.
func module(dir string) bool {
	for ; dir != "."; dir = filepath.ToSlash(filepath.Dir(dir)) {
		if _, err := os.Stat(filepath.Join(filepath.FromSlash(dir), "go.mod")); err == nil {
			return true
		}
	}
	return false
}

func (m *measures) countTest(src source) {
	for _, decl := range src.file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example") {
			m.examples[src.dir] = true
		}
	}
	if slices.Contains(src.imports, "github.com/cockroachdb/datadriven") {
		m.dataDriven[src.dir] = true
	}
}

// countLines tells code, comments and blank lines apart. A line with both is code.
func (m *measures) countLines(t *testing.T, src source) {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(src.path))
	if err != nil {
		t.Fatal(err)
	}
	comment := map[int]bool{}
	for _, group := range src.file.Comments {
		for _, c := range group.List {
			for line := src.line(c.Pos()); line <= src.line(c.End()); line++ {
				comment[line] = true
			}
		}
	}
	for i, line := range strings.Split(string(text), "\n") {
		trimmed := strings.TrimSpace(line)
		starts := strings.HasPrefix(trimmed, "//") || strings.HasPrefix(trimmed, "/*")
		switch inside := comment[i] && comment[i+1] && comment[i+2]; {
		case trimmed == "":
		case comment[i+1] && (starts || inside):
			m.comments++
		default:
			m.code++
		}
		if utf8.RuneCountInString(line)+3*strings.Count(line, "\t") > 100 {
			m.wide++
		}
	}
}

func (m *measures) countFunction(src source, f *ast.FuncDecl) {
	m.functions++
	if f.Recv != nil {
		m.methods[src.dir+"."+receiver(f.Recv.List[0].Type)]++
	}
	if f.Doc != nil || f.Body == nil || src.line(f.End())-src.line(f.Pos()) < 25 {
		return
	}
	inside := func(g *ast.CommentGroup) bool { return f.Body.Pos() < g.Pos() && g.End() < f.Body.End() }
	if !slices.ContainsFunc(src.file.Comments, inside) {
		m.unexplained = append(m.unexplained, src.at(f.Pos())+" "+f.Name.Name)
	}
}

// receiver is the name of a method's type.
func receiver(of ast.Expr) string {
	name := ""
	ast.Inspect(of, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return true
	})
	return name
}
