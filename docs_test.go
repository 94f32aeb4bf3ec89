package settee

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestChangelogHasNoEntryTwice finds what a merge doubled: entries of CHANGELOG.md are lines that
// begin with a dash, and each stands in one version only.
func TestChangelogHasNoEntryTwice(t *testing.T) {
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	first := map[string]string{} // version an entry or a heading stands in
	version := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		heading := strings.HasPrefix(line, "## ")
		if heading {
			version = line
		}
		if !heading && !strings.HasPrefix(line, "- ") {
			continue
		}
		if other, twice := first[line]; twice {
			t.Errorf(
				"CHANGELOG.md has %q in %q and in %q: if a merge brought an old list back, keep your own lines only, under Unreleased",
				line,
				other,
				version,
			)
		}
		first[line] = version
	}
	if first["## Unreleased"] == "" {
		t.Error("CHANGELOG.md has no section Unreleased")
	}
}

// decisionSections are the headings of a decision record, in their order (docs/adr/README.md).
var decisionSections = []string{
	"Context",
	"Decision",
	"Alternatives",
	"Figures",
	"Consequences",
	"What would change our mind",
}

// TestDecisionsHaveTheForm: every decision record begins with its number and its status, has each
// section once and in order, and is in the list.
func TestDecisionsHaveTheForm(t *testing.T) {
	list, err := os.ReadFile("docs/adr/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("docs/adr/[0-9]*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(page)
		begin := regexp.MustCompile(`^# ` + name[:4] + `: .+\n\nStatus: (accepted|superseded|proposed)`)
		if !begin.Match(content) {
			t.Errorf(
				"%s does not begin with \"# %s: title\" and a line \"Status: …\" (docs/adr/README.md has the form)",
				page,
				name[:4],
			)
		}
		var sections []string
		for _, heading := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllSubmatch(content, -1) {
			sections = append(sections, string(heading[1]))
		}
		if strings.Join(sections, ", ") != strings.Join(decisionSections, ", ") {
			t.Errorf(
				"%s has the sections %q, want %q (docs/adr/README.md has the form)",
				page,
				sections,
				decisionSections,
			)
		}
		if !strings.Contains(string(list), "]("+name+")") {
			t.Errorf("docs/adr/README.md does not list %s", name)
		}
	}
}

var (
	testName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w{2,}`)
	goFile   = regexp.MustCompile(`[\w./*-]+\.go\b`)
	docLink  = regexp.MustCompile(`\]\(([^)#\s:]*)(?:#([^)\s]*))?\)`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	fenced   = regexp.MustCompile("(?ms)^```.*?^```$")
	unnamed  = regexp.MustCompile(`[^\p{L}\p{N}\p{M}_ -]`) // what the name of an anchor leaves out
	linkText = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
)

// anchors are the names that GitHub, and the site that make docs builds, give to the headings of a
// page.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, title := range heading.FindAllSubmatch(fenced.ReplaceAll(text, nil), -1) {
		plain := unnamed.ReplaceAllString(linkText.ReplaceAllString(string(title[1]), "$1"), "")
		names[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(plain)), " ", "-")] = true
	}
	return names
}

// TestDocumentsNameWhatIsThere: tests, Go files and links that the documents name exist. Decision
// records, measurements (docs/lab) and the changelog may name files of their time; their links are
// looked at. A link to a heading names one that its page has; those of the
// changelog may be of its time, too. Each begins with its title: an empty one names nothing wrong.
func TestDocumentsNameWhatIsThere(t *testing.T) {
	functions, files := map[string]bool{}, []string{}
	for _, src := range sources(t) {
		files = append(files, src.path)
		for _, decl := range src.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && src.test {
				functions[f.Name.Name] = true
			}
		}
	}
	var documents []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, found...)
	}
	for _, document := range documents {
		content, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		text := string(content)
		if !strings.HasPrefix(text, "# ") {
			t.Errorf("%s does not begin with its title", document)
		}
		for _, link := range docLink.FindAllStringSubmatch(text, -1) {
			to := filepath.Join(filepath.Dir(document), link[1])
			if link[1] == "" {
				to = document
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", document, link[1])
			} else if document != "CHANGELOG.md" && link[2] != "" && strings.HasSuffix(to, ".md") &&
				!anchors(t, to)[link[2]] {
				t.Errorf("%s links to %s#%s, a heading that is not there", document, link[1], link[2])
			}
		}
		if dir := filepath.Base(filepath.Dir(document)); document == "CHANGELOG.md" || dir == "adr" || dir == "lab" {
			continue
		}
		for _, name := range testName.FindAllString(text, -1) {
			if !functions[name] && !strings.HasSuffix(name, "_") { // TestW05_… stands for several
				t.Errorf("%s names the test %s, which is not there", document, name)
			}
		}
		for _, name := range goFile.FindAllString(text, -1) {
			if !strings.HasPrefix(name, "//") && !namesAFile(name, files) { // not an address
				t.Errorf("%s names the file %s, which is not there", document, name)
			}
		}
	}
}

// namesAFile reports whether a path or the end of one, perhaps with a * in it, is that of a file.
func namesAFile(name string, files []string) bool {
	parts := strings.Count(name, "/") + 1
	for _, file := range files {
		elements := strings.Split(file, "/")
		if len(elements) < parts {
			continue
		}
		if ok, _ := path.Match(name, strings.Join(elements[len(elements)-parts:], "/")); ok {
			return true
		}
	}
	return false
}

var (
	extensionName = regexp.MustCompile(`\{"([a-z_]+)", ([0-9]+), \[\]string`)
	versionedName = regexp.MustCompile(`([a-z_]+) ([0-9]+)`)
)

// TestExtensionsAreListed: what `GET /` says that a server has besides CouchDB is in the last column of
// the list of extensions, with its version, and nothing else is.
func TestExtensionsAreListed(t *testing.T) {
	table, err := os.ReadFile("server/admin/extensions.go")
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{}
	for _, row := range extensionName.FindAllStringSubmatch(string(table), -1) {
		served[row[1]+" "+row[2]] = true
	}
	if len(served) == 0 {
		t.Fatal("server/admin/extensions.go has no rows of the form that this test reads")
	}
	for _, line := range extensionRows(t) {
		cells := strings.Split(strings.TrimSuffix(line, " |"), " | ")
		names := versionedName.FindAllString(cells[len(cells)-1], -1)
		if len(cells) != 3 || len(names) == 0 {
			t.Errorf("docs/compatibility.md has no name and version of the extension %s", cells[0])
		}
		for _, name := range names {
			if !served[name] {
				t.Errorf("server/admin/extensions.go has no %s, which docs/compatibility.md lists", name)
			}
			delete(served, name)
		}
	}
	for name := range served {
		t.Errorf("docs/compatibility.md does not list the extension %s", name)
	}
}

// extensionRows are the rows of the list of extensions, without its head.
func extensionRows(t *testing.T) (rows []string) {
	compatibility, err := os.ReadFile("docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(compatibility), "## Extensions")
	list, _, _ = strings.Cut(list, "\n## ")
	for line := range strings.Lines(list) {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| request ") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	return rows
}

var (
	oracleTest = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz)\\w+)`")
	extension  = regexp.MustCompile("`([^`]+)`")
)

// TestOwnFeaturesHaveOracles: each row of docs/oracles.md names tests that are in the packages it says, and what
// docs/compatibility.md lists as an extension stands there.
func TestOwnFeaturesHaveOracles(t *testing.T) {
	tests := map[string]bool{}
	for _, src := range sources(t) {
		for _, decl := range src.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && src.test && f.Recv == nil {
				tests[src.dir+"."+f.Name.Name] = true
			}
		}
	}
	oracles, err := os.ReadFile("docs/oracles.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(oracles)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| **") || strings.HasPrefix(line, "| feature |") {
			continue
		}
		rows++
		cells := strings.Split(line, " | ")
		named := oracleTest.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(named) == 0 {
			t.Errorf("docs/oracles.md names no test for %s", cells[0])
		}
		for _, n := range named {
			if !tests[n[1]+"."+n[2]] {
				t.Errorf("docs/oracles.md names %s.%s, which is not there", n[1], n[2])
			}
		}
	}
	extensions := 0
	for _, line := range extensionRows(t) {
		names := extension.FindAllStringSubmatch(strings.Split(line, " | ")[0], -1)
		if strings.HasPrefix(line, "| header ") {
			names = names[:1] // the requests that may have it follow
		}
		for _, name := range names {
			extensions++
			short := path.Base(strings.TrimSuffix(name[1], "/i"))
			if !strings.Contains(string(oracles), name[1]) && !strings.Contains(string(oracles), short) {
				t.Errorf("docs/oracles.md has nothing of the extension %s", name[1])
			}
		}
	}
	if rows == 0 || extensions == 0 {
		t.Errorf("%d rows of oracles and %d extensions were found", rows, extensions)
	}
}
