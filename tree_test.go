package settee

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// What a package may have, tests not counted. A reader takes in at most that much as one thing; what is larger has a second
// subject.
const (
	maxPackageFiles = 65
	maxPackageLines = 11_500
)

// maxColumns is how long a line may be, with four columns for a tab. oldLongLines are longer, from before there was a
// bound: that number may only fall.
const (
	maxColumns   = 120
	oldLongLines = 208
)

// mappedFile is a file, or a pattern for files, that a package's comment names.
var mappedFile = regexp.MustCompile(`[\w*./-]*\.go\b`)

// TestMapsAreTrue: the comment of a package names all its files (a pattern such as check*.go is good for several), and no others.
func TestMapsAreTrue(t *testing.T) {
	files, maps := map[string][]string{}, map[string]string{}
	for _, src := range sources(t) {
		switch base := path.Base(src.path); {
		case base == "doc.go":
			maps[src.dir] = src.file.Doc.Text()
		case !src.test:
			files[src.dir] = append(files[src.dir], base)
		}
	}
	for dir, text := range maps {
		named := mappedFile.FindAllString(text, -1)
		for _, file := range files[dir] {
			known := slices.ContainsFunc(named, func(pattern string) bool { ok, _ := path.Match(pattern, file); return ok })
			if !known && len(files[dir]) > 1 {
				t.Errorf("%s/doc.go does not name %s", dir, file)
			}
		}
		for _, pattern := range named {
			if found, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), pattern)); err != nil || len(found) == 0 {
				t.Errorf("%s/doc.go names %s, which is not there", dir, pattern)
			}
		}
	}
}

func TestPackagesStaySmall(t *testing.T) {
	files, lines := map[string]int{}, map[string]int{}
	for _, src := range sources(t) {
		if !src.test {
			files[src.dir]++
			lines[src.dir] += src.lines
		}
	}
	for dir := range files {
		if files[dir] > maxPackageFiles || lines[dir] > maxPackageLines {
			t.Errorf("%s has %d files and %d lines, more than %d and %d", dir, files[dir], lines[dir], maxPackageFiles, maxPackageLines)
		}
	}
}

// TestContextsAreParameters: a struct that keeps a context says why.
func TestContextsAreParameters(t *testing.T) {
	for _, src := range sources(t) {
		ast.Inspect(src.file, func(n ast.Node) bool {
			s, ok := n.(*ast.StructType)
			if !ok || src.test {
				return true
			}
			for _, field := range s.Fields.List {
				of, ok := field.Type.(*ast.SelectorExpr)
				if !ok || of.Sel.Name != "Context" || field.Doc != nil || field.Comment != nil {
					continue
				}
				if x, ok := of.X.(*ast.Ident); ok && x.Name == "context" {
					t.Errorf("%s: a struct keeps a context without saying why", src.at(field.Pos()))
				}
			}
			return true
		})
	}
}

// TestExportedNamesHaveComments: what a package offers says what it does.
func TestExportedNamesHaveComments(t *testing.T) {
	for _, src := range sources(t) {
		if src.test || src.file.Name.Name == "main" {
			continue
		}
		for _, decl := range src.file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				wellKnown := d.Recv != nil && (d.Name.Name == "String" || d.Name.Name == "Error")
				if d.Doc == nil && d.Name.IsExported() && !wellKnown && (d.Recv == nil || exportedReceiver(d)) {
					t.Errorf("%s: %s has no comment", src.at(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					uncommented(d, spec, func(name *ast.Ident) { t.Errorf("%s: %s has no comment", src.at(name.Pos()), name.Name) })
				}
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	exported := false
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && !exported {
			exported = name.IsExported()
			return false
		}
		return true
	})
	return exported
}

// uncommented reports the exported names of a declaration that neither it nor its group has a comment for.
func uncommented(group *ast.GenDecl, spec ast.Spec, report func(*ast.Ident)) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && group.Doc == nil && s.Doc == nil && s.Comment == nil {
			report(s.Name)
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() && group.Doc == nil && s.Doc == nil && s.Comment == nil {
				report(name)
			}
		}
	}
}

// TestNoLeftovers: what merges, patches and editors leave behind is not part of the tree.
func TestNoLeftovers(t *testing.T) {
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || name == "bin" || name == "data") {
			return fs.SkipDir
		}
		if slices.Contains([]string{".orig", ".rej", ".bak", ".swp", ".tmp", ".patch"}, filepath.Ext(name)) || strings.HasSuffix(name, "~") {
			t.Errorf("%s is a leftover", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLinesAreShort: no line has more than maxColumns columns, but for texts that cannot be broken and for old lines.
func TestLinesAreShort(t *testing.T) {
	var long []string
	for _, src := range sources(t) {
		text, err := os.ReadFile(filepath.FromSlash(src.path))
		if err != nil {
			t.Fatal(err)
		}
		literal := literalLines(src)
		for i, line := range strings.Split(string(text), "\n") {
			columns := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
			if columns > maxColumns && !literal[i+1] && !strings.HasPrefix(line, "//go:") {
				long = append(long, fmt.Sprintf("%s:%d has %d columns", src.path, i+1, columns))
			}
		}
	}
	if len(long) > oldLongLines {
		t.Errorf("%d lines have more than %d columns, %d more than there were: break those that are new", len(long), maxColumns, len(long)-oldLongLines)
	}
	if len(long) < oldLongLines {
		t.Errorf("only %d lines have more than %d columns: set oldLongLines to that", len(long), maxColumns)
	}
}

// literalLines are the lines of a file that are strings for the most part, or have one that goes over several lines.
func literalLines(src source) map[int]bool {
	lines, columns := map[int]bool{}, map[int]int{}
	ast.Inspect(src.file, func(n ast.Node) bool {
		s, ok := n.(*ast.BasicLit)
		if !ok || s.Kind != token.STRING {
			return true
		}
		first, last := src.line(s.Pos()), src.line(s.End())
		columns[first] += len(s.Value)
		for line := first; line <= last; line++ {
			lines[line] = lines[line] || last > first || columns[line] > maxColumns/2
		}
		return true
	})
	return lines
}
