package settee

import (
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

// maxColumns is how long a line may be, with four columns for a tab.
const maxColumns = 120

// mappedFile is a file, or a pattern for files, that a package's comment names.
var mappedFile = regexp.MustCompile(`[\w*./-]*\.go\b`)

// TestMapsAreTrue: the comment of a package names all its files (a pattern such as check*.go is
// good for several), and no others.
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
			names := func(pattern string) bool { ok, _ := path.Match(pattern, file); return ok }
			if len(files[dir]) > 1 && !slices.ContainsFunc(named, names) {
				t.Errorf("%s/doc.go does not name %s", dir, file)
			}
		}
		for _, pattern := range named {
			found, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), pattern))
			if err != nil || len(found) == 0 {
				t.Errorf("%s/doc.go names %s, which is not there", dir, pattern)
			}
		}
	}
}

// fdbPackages is the line of the Makefile with the packages whose tests run on FoundationDB as
// well.
var fdbPackages = regexp.MustCompile(`(?m)^FDB_PACKAGES \?= (.*)$`)

// TestEnginesAreTestedTogether: make test-fdb has all packages whose tests run on every engine.
func TestEnginesAreTestedTogether(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := fdbPackages.FindSubmatch(text)
	if line == nil {
		t.Fatal("the Makefile does not say which packages' tests run on FoundationDB")
	}
	trees := strings.Fields(string(line[1]))
	for _, src := range sources(t) {
		ast.Inspect(src.file, func(n ast.Node) bool {
			of, ok := n.(*ast.SelectorExpr)
			if !ok || !src.test || of.Sel.Name != "OnEngines" && of.Sel.Name != "Engines" {
				return true
			}
			from, ok := of.X.(*ast.Ident)
			runs := func(tree string) bool {
				return strings.HasPrefix("./"+src.dir+"/", strings.TrimSuffix(tree, "..."))
			}
			if ok && from.Name == "storagetest" && !slices.ContainsFunc(trees, runs) {
				t.Errorf("%s: this runs on every engine, but make test-fdb does not run it", src.at(n.Pos()))
			}
			return true
		})
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
					uncommented(d, spec, func(name *ast.Ident) {
						t.Errorf("%s: %s has no comment", src.at(name.Pos()), name.Name)
					})
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

// uncommented reports the exported names of a declaration that neither it nor its group has a
// comment for.
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
	endings := []string{".orig", ".rej", ".bak", ".swp", ".tmp", ".patch"}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		foreign := name == "bin" || name == "data"
		if err == nil && d.IsDir() && (foreign || d.Name() == "node_modules" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if slices.Contains(endings, filepath.Ext(name)) || strings.HasSuffix(name, "~") {
			t.Errorf("%s is a leftover", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLinesAreShort: no line has more than maxColumns columns, but for texts that cannot be broken.
func TestLinesAreShort(t *testing.T) {
	for _, src := range sources(t) {
		text, err := os.ReadFile(filepath.FromSlash(src.path))
		if err != nil {
			t.Fatal(err)
		}
		literal := literalLines(src)
		for i, line := range strings.Split(string(text), "\n") {
			columns := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
			if columns > maxColumns && !literal[i+1] && !strings.HasPrefix(line, "//go:") {
				t.Errorf("%s:%d has %d columns, more than %d", src.path, i+1, columns, maxColumns)
			}
		}
	}
}

// literalLines are the lines of a file that are strings for the most part, or have one that goes
// over several lines.
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
