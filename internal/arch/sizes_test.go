package arch

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// A type fits in a head, and so do the list of a package's files and the width of a line. An
// interface with more methods than maxInterface is named in sizeLimits.
const (
	maxMethods   = 60
	maxFields    = 25
	maxInterface = 3
	maxPackage   = 40  // files, without tests
	maxColumns   = 120 // of a line of Go, tests included; a tab counts as one
	maxCommand   = 150 // lines of a file of the command line, which reads: flags, call, output
)

// sizeLimits has today's exceptions: places whose measure is above these maxima, or that should have
// none at all, with their present measure. Limits only decrease.
const sizeLimits = "testdata/sizes.txt"

// TestSizes compares the sizes of types, interfaces, packages and lines with their limits.
//
//	go test ./internal/arch -run TestSizes -v
//
// prints an overview of the project and the largest exceptions; -update lowers the limits.
func TestSizes(t *testing.T) {
	pkgs := loadProject(t)
	found := sizesOf(pkgs)
	where := columns(t, "../..", found)
	for _, p := range pkgs {
		where["comments that repeat the name in "+p.path] = p.echoes()
	}
	for _, place := range holdLimits(t, sizeLimits, found) {
		t.Errorf("%s: %d, and %d are allowed. %s.%s", place, found[place], limitOf(t, place), measureOf(place).remedy,
			strings.Join(where[place], ""))
	}
	if !testing.Verbose() {
		return
	}
	t.Logf("overview:\n%s", overviewOf(t, pkgs))
	t.Logf("the largest exceptions:\n%s", largest(found, 40))
}

// limitOf returns the limit of a place in the list of exceptions, or else the maximum.
func limitOf(t *testing.T, place string) int {
	t.Helper()
	text, err := os.ReadFile(sizeLimits)
	if err != nil {
		t.Fatal(err)
	}
	limits, err := readLimits(sizeLimits, text)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := limits[place]; ok {
		return n
	}
	return measureOf(place).most
}

// measure is a kind of size, with the advice for a place that is too large.
type measure struct {
	name   string // the beginning of its places
	most   int
	remedy string
}

// measureOf returns the measure of a place.
func measureOf(place string) measure {
	for _, m := range []measure{
		{"methods of interface ", maxInterface, "Declare an interface with fewer methods where it is used"},
		{"methods of ", maxMethods, "Split the type, or make a method that uses no field a function"},
		{"fields of ", maxFields, "Split the type"},
		{"files of ", maxPackage, "Move a topic to a package below it"},
		{"files in cycles of ", 0, "Move what both files need to a third file"},
		{"comments that repeat the name ", 0, "Say what the name does not say, or delete the comment"},
		{"lines over ", 0, fmt.Sprintf("Break lines before column %d; a tab counts as one", maxColumns+1)},
		{"lines of ", maxCommand, "Split the file"},
	} {
		if strings.HasPrefix(place, m.name) {
			return m
		}
	}
	return measure{remedy: "Split it"}
}

// TestSizesAreFound: a package that breaks each maximum is found at each.
func TestSizesAreFound(t *testing.T) {
	dir := t.TempDir()
	text := "// Package wide breaks each maximum.\npackage wide\n\ntype Four interface{ A(); B(); C(); D() }\n\ntype big struct{ other; " + repeat(
		maxFields, "f%d, ") + "last int }\n\ntype other struct{}\n\n" +
		repeat(maxMethods+1, "func (*big) m%d() {}\n") +
		"// Size is the size.\nfunc Size() int { return 0 }\n\n// Depth is in metres.\nfunc Depth() int { return first() }\n"
	for name, text := range map[string]string{"go.mod": "module " + module + "\n\ngo 1.26\n", "a.go": text,
		"b.go": "package wide\n\nfunc first() int { return Size() } // " +
			strings.Repeat("é", maxColumns) + "\n",
		commandLine + "/c.go": "// Package cli has a long file.\npackage cli\n" + strings.Repeat("\n", maxCommand-1),
		commandLine + "/d.go": "package cli\n" + strings.Repeat("\n", maxCommand-1)} {
		if err := os.MkdirAll(path.Dir(path.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found := sizesOf(load(t, dir))
	wide := columns(t, dir, found)
	if got := strings.Join(wide["lines over 120 columns in ."], ""); got != "\na.go:6\nb.go:3" {
		t.Errorf("wide lines: %s", got)
	}
	want := "comments that repeat the name in : 1\nfields of .big: 27\nfiles in cycles of : 2\n" +
		"lines of internal/ui/cli/c.go: 151\nlines over 120 columns in .: 2\n" +
		"methods of .big: 61\nmethods of interface .Four: 4\n"
	if got := string(lowerLimits(found, found)); got != want {
		t.Errorf("found\n%swant\n%s", got, want)
	}
}

func repeat(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// commandLine contains the packages of commands. Their logic without a terminal is in packages below ui.
const commandLine = "internal/ui/cli"

// under reports whether a path is a directory or in it.
func under(directory, path string) bool {
	return path == directory || strings.HasPrefix(path, directory+"/")
}

// sizesOf measures the packages. It returns the measures above the maxima.
func sizesOf(pkgs []*pkg) map[string]int {
	found := map[string]int{}
	add := func(n, most int, what, place string) {
		if n > most {
			found[what+" "+place] = n
		}
	}
	for _, p := range pkgs {
		for name, n := range p.methods() {
			add(n, maxMethods, "methods of", p.path+"."+name)
		}
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok {
					fields, methods := membersOf(spec)
					add(fields, maxFields, "fields of", p.path+"."+spec.Name.Name)
					add(methods, maxInterface, "methods of interface", p.path+"."+spec.Name.Name)
				}
				return true
			})
		}
		if under(commandLine, p.path) {
			for _, f := range p.files {
				add(p.fset.Position(f.FileEnd).Line, maxCommand, "lines of", p.file(f.Package))
			}
		}
		add(len(p.files), maxPackage, "files of", p.path)
		add(p.cyclicFiles(), 0, "files in cycles of", p.path)
		add(len(p.echoes()), 0, "comments that repeat the name in", p.path)
	}
	return found
}

// methods counts the methods of each type of a package.
func (p *pkg) methods() map[string]int {
	out := map[string]int{}
	for _, f := range p.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				if name, _, ok := strings.Cut(funcName(fn), "."); ok {
					out[name]++
				}
			}
		}
	}
	return out
}

// fields counts the fields of each struct of a package.
func (p *pkg) fields() map[string]int {
	out := map[string]int{}
	for _, f := range p.files {
		for _, d := range f.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					out[spec.Name.Name], _ = membersOf(spec)
				}
			}
		}
	}
	return out
}

// membersOf counts the fields of a struct, embedded ones included, or the methods that an interface
// declares itself.
func membersOf(spec *ast.TypeSpec) (fields, methods int) {
	switch t := spec.Type.(type) {
	case *ast.StructType:
		for _, f := range t.Fields.List {
			fields += max(1, len(f.Names))
		}
	case *ast.InterfaceType:
		for _, f := range t.Methods.List {
			methods += len(f.Names)
		}
	}
	return fields, methods
}

// cyclicFiles counts the files of a package that need each other in a circle. A reader of one of them
// needs the others.
func (p *pkg) cyclicFiles() int {
	needs := map[string]map[string]bool{}
	for _, f := range p.files {
		own := p.file(f.Package)
		needs[own] = map[string]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if o := p.info.Uses[id]; o != nil && isOfPackage(o, p) {
					needs[own][p.file(o.Pos())] = true
				}
			}
			return true
		})
	}
	return inCycles(needs)
}

// isOfPackage tells whether an object is declared at the top of the package, or is a method or a
// field of one of its types.
func isOfPackage(o types.Object, p *pkg) bool {
	if o.Pkg() == nil || relative(o.Pkg().Path()) != p.path || !o.Pos().IsValid() {
		return false
	}
	v, isVar := o.(*types.Var)
	f, isFunc := o.(*types.Func)
	return o.Parent() == o.Pkg().Scope() || isVar && v.IsField() || isFunc && f.Signature().Recv() != nil
}

// inCycles counts the nodes of a graph that reach themselves through another node.
func inCycles(needs map[string]map[string]bool) (n int) {
	for from := range needs {
		seen, next := map[string]bool{}, []string{from}
		for len(next) > 0 && !seen[from] {
			at := next[0]
			next = next[1:]
			for to := range needs[at] {
				if to != at && !seen[to] {
					seen[to] = true
					next = append(next, to)
				}
			}
		}
		if seen[from] {
			n++
		}
	}
	return n
}

// columns adds the number of wide lines of each directory, and returns their positions.
func columns(t *testing.T, dir string, found map[string]int) (wide map[string][]string) {
	t.Helper()
	wide = map[string][]string{}
	err := walk(dir, ".go", func(name string, text []byte) {
		n := 0
		for line := range strings.Lines(string(text)) {
			if n++; utf8.RuneCountInString(strings.TrimRight(line, "\n")) > maxColumns {
				place := fmt.Sprintf("lines over %d columns in %s", maxColumns, path.Dir(name))
				found[place]++
				wide[place] = append(wide[place], fmt.Sprintf("\n%s:%d", name, n))
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return wide
}

// largest lists the n largest measures of each kind.
func largest(found map[string]int, n int) string {
	type measure struct {
		place string
		n     int
	}
	var all []measure
	for place, n := range found {
		all = append(all, measure{place, n})
	}
	slices.SortFunc(all, func(a, b measure) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.place, b.place))
	})
	var b strings.Builder
	for _, m := range all[:min(n, len(all))] {
		fmt.Fprintf(&b, "%5d  %s\n", m.n, m.place)
	}
	return b.String()
}
