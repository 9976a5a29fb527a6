package listcache_test

import (
	"fmt"
	"maps"
	"reflect"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/listcache"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/step"
)

func tree() repo.Tree {
	return repo.MapTree(map[string]string{"fettle.hcl": "target \"one\" { modules = [\"m\"] }\n",
		"modules/m/module.hcl": "directory \"/srv/data\" {\n  source = \"files\"\n}\nfile \"/srv/data/greeting # 1\" {\n  content = \"hello\\n\"\n}\n",
		"modules/m/files/a":    "a\n", "modules/m/files/d/b": "b\n"})
}

func compiled(t testing.TB, tr repo.Tree) compile.Result {
	t.Helper()
	res, ds := compile.Compile(compile.Input{Tree: tr, Target: "one"})
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	return res
}

func key() listcache.Key {
	return listcache.Key{Program: "p", Tree: "sha256:1", Prefix: ".", Target: "one", Vars: map[string]string{"a": "1"},
		Facts: map[string]cty.Value{"os": cty.StringVal("debian"), "cpus": cty.NumberIntVal(2)}}
}

func Example() {
	dir := listcache.Dir{FS: mem.New(mem.Options{})}
	tr := tree()
	res, _ := compile.Compile(compile.Input{Tree: tr, Target: "one"})
	_ = dir.Keep(tr, key(), res)
	kept, ok := dir.Find(key())
	fmt.Println(ok, kept.List == res.List.Digest())
	again, err := dir.Result(kept, tr)
	fmt.Println(err, again.List.Digest() == kept.List)
	// Output:
	// true true
	// <nil> true
}

// TestList: what comes back is what was kept, in every field.
func TestList(t *testing.T) {
	dir, tr := listcache.Dir{FS: mem.New(mem.Options{})}, tree()
	res := compiled(t, tr)
	if _, ok := dir.Find(key()); ok {
		t.Fatal("an empty cache has a list")
	}
	if err := dir.Keep(tr, key(), res); err != nil {
		t.Fatal(err)
	}
	kept, ok := dir.Find(key())
	if !ok {
		t.Fatal("it is not found again")
	}
	if kept.List != res.List.Digest() || kept.Target != res.Target || kept.Policy != res.Policy {
		t.Errorf("got %+v", kept)
	}
	got, err := dir.Result(kept, tr)
	if err != nil {
		t.Fatal(err)
	}
	if got.List.Digest() != res.List.Digest() || got.List.String() != res.List.String() ||
		!reflect.DeepEqual(got.Blobs, res.Blobs) || !reflect.DeepEqual(got.States, res.States) {
		t.Errorf("got %+v\nwant %+v", got, res)
	}
	for i := range got.List {
		if got.List[i].Source != res.List[i].Source || got.List[i].Written != res.List[i].Written ||
			got.List[i].Range != res.List[i].Range {
			t.Errorf("step %d: got %+v, want %+v", i, got.List[i], res.List[i])
		}
	}
}

// TestEveryField fills every field of a result, those of the future too.
func TestEveryField(t *testing.T) {
	var res compile.Result
	v := reflect.ValueOf(&res).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "List" && name != "Blobs" {
			fill(t, v.Field(i))
		}
	}
	dir := listcache.Dir{FS: mem.New(mem.Options{})}
	if err := dir.Keep(tree(), key(), res); err != nil {
		t.Fatal(err)
	}
	kept, ok := dir.Find(key())
	if !ok {
		t.Fatal("it is not found")
	}
	got, err := dir.Result(kept, tree())
	got.List, got.Blobs = nil, nil
	if err != nil || !reflect.DeepEqual(got, res) || kept.Policy != res.Policy || kept.Target != res.Target ||
		!reflect.DeepEqual(kept.Outputs, res.Outputs) || !reflect.DeepEqual(kept.Deferred, res.Deferred) {
		t.Errorf("%v\n got %+v\nwant %+v", err, got, res)
	}
}

func fill(t *testing.T, v reflect.Value) {
	if s, ok := v.Addr().Interface().(*step.Step); ok {
		if err := s.UnmarshalText([]byte("MKDIR /srv/x mode=0700")); err != nil {
			t.Fatal(err)
		}
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(7)
	case reflect.Uint32, reflect.Uint64, reflect.Uint8:
		v.SetUint(7)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	default:
		t.Fatalf("teach this test to fill a %s", v.Type())
	}
}

// TestInputs: every input that is another one makes the list unknown, and
// a fact that the repository does not declare does not.
func TestInputs(t *testing.T) {
	dir, tr := listcache.Dir{FS: mem.New(mem.Options{})}, tree()
	res := compiled(t, tr)
	res.FactsUsed = []string{"os"}
	if err := dir.Keep(tr, key(), res); err != nil {
		t.Fatal(err)
	}
	set := func(name string, v cty.Value) func(*listcache.Key) {
		return func(k *listcache.Key) { k.Facts = maps.Clone(k.Facts); k.Facts[name] = v }
	}
	for _, c := range []struct {
		name   string
		change func(*listcache.Key)
		found  bool
	}{
		{"nothing", func(*listcache.Key) {}, true},
		{"a fact that is not used", set("cpus", cty.NumberIntVal(3)), true},
		{"a fact that is used", set("os", cty.StringVal("devuan")), false},
		{"the type of a fact", set("os", cty.True), false},
		{"a fact that is gone", func(k *listcache.Key) { k.Facts = nil }, false},
		{"program", func(k *listcache.Key) { k.Program = "q" }, false},
		{"tree", func(k *listcache.Key) { k.Tree = "sha256:2" }, false},
		{"prefix", func(k *listcache.Key) { k.Prefix = "x" }, false},
		{"target", func(k *listcache.Key) { k.Target = "two" }, false},
		{"a variable", func(k *listcache.Key) { k.Vars = map[string]string{"a": "2"} }, false},
		{"an output", func(k *listcache.Key) { k.Outputs = map[addr.Addr]string{"exec:a": "x"} }, false},
		{"one variable more", func(k *listcache.Key) { k.Vars = map[string]string{"a": "1", "b": ""} }, false},
	} {
		k := key()
		c.change(&k)
		if _, ok := dir.Find(k); ok != c.found {
			t.Errorf("%s changed: found is %v", c.name, ok)
		}
	}
}

// TestDamage flips every byte and cuts at every place: nothing of it is
// believed.
func TestDamage(t *testing.T) {
	fsys := mem.New(mem.Options{})
	dir := listcache.Dir{FS: fsys}
	if err := dir.Save("x", []byte("some content")); err != nil {
		t.Fatal(err)
	}
	names, err := fsys.ReadDir("/cache/lists")
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	file := "/cache/lists/" + names[0]
	f, err := fsys.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	whole := make([]byte, 1000)
	n, _ := f.Read(whole)
	f.Close()
	whole = whole[:n]
	write := func(b []byte) {
		t.Helper()
		if err := fsys.Remove(file); err != nil {
			t.Fatal(err)
		}
		w, err := fsys.Create(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	for i := range whole {
		flipped := append([]byte{}, whole...)
		flipped[i] ^= 1
		write(flipped)
		if b := dir.Load("x"); b != nil {
			t.Errorf("byte %d flipped: %q", i, b)
		}
		write(whole[:i])
		if b := dir.Load("x"); b != nil {
			t.Errorf("cut at %d: %q", i, b)
		}
	}
	write(whole)
	if string(dir.Load("x")) != "some content" {
		t.Error("the whole file is not believed")
	}
}

// TestBodyOfAnother: the two files of a list belong together. One that was
// replaced in between is not taken for the other.
func TestBodyOfAnother(t *testing.T) {
	dir, tr := listcache.Dir{FS: mem.New(mem.Options{})}, tree()
	res := compiled(t, tr)
	if err := dir.Keep(tr, key(), res); err != nil {
		t.Fatal(err)
	}
	kept, ok := dir.Find(key())
	if !ok {
		t.Fatal("it is not found")
	}
	newer := key()
	newer.Tree = "sha256:2"
	if err := dir.Keep(tr, newer, res); err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Result(kept, tr); err == nil {
		t.Error("the list of another commit was taken")
	}
}

// TestProgram: what another build wrote is not believed.
func TestProgram(t *testing.T) {
	one := listcache.Dir{FS: mem.New(mem.Options{}), Program: "one"}
	two := listcache.Dir{FS: one.FS, Program: "two"}
	if err := one.Save("x", []byte("text")); err != nil {
		t.Fatal(err)
	}
	if string(one.Load("x")) != "text" || two.Load("x") != nil {
		t.Errorf("%q, %q", one.Load("x"), two.Load("x"))
	}
}

// TestBound: the cache does not grow for ever.
func TestBound(t *testing.T) {
	fsys := mem.New(mem.Options{})
	dir := listcache.Dir{FS: fsys}
	for i := range 1100 {
		if err := dir.Save(fmt.Sprint(i), []byte("x")); err != nil {
			t.Fatal(err)
		}
		if dir.Load(fmt.Sprint(i)) == nil {
			t.Fatalf("%d is not there", i)
		}
	}
	if names, _ := fsys.ReadDir("/cache/lists"); len(names) > 1001 {
		t.Errorf("%d files", len(names))
	}
}
