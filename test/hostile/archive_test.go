package hostile

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/step"
)

// entry is a file of an archive. size lies about how large it is, unless 0;
// more is what follows the data, in MiB of line breaks that are never in memory.
type entry struct {
	name   string
	method uint16
	data   []byte
	size   uint64
	more   int
}

// archive is a saved plan, taken apart.
type archive []entry

func unzip(t testing.TB, b []byte) archive {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	must(t, err)
	var a archive
	for _, f := range z.File {
		r, err := f.Open()
		must(t, err)
		data, err := io.ReadAll(r)
		must(t, err)
		a = append(a, entry{name: f.Name, method: f.Method, data: data})
	}
	return a
}

// bytes packs it; what is wrong with it is wrong on purpose.
func (a archive) bytes(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range a {
		h := &zip.FileHeader{Name: e.name, Method: e.method, CRC32: crc32.ChecksumIEEE(e.data), UncompressedSize64: e.size,
			CompressedSize64: uint64(len(e.data))}
		if e.more > 0 {
			e.data = e.packed(t, h)
		} else if e.size == 0 {
			w, err := z.CreateHeader(h)
			must(t, err)
			if strings.HasSuffix(e.name, "/") {
				continue // a directory, which has no content
			}
			_, err = w.Write(e.data)
			must(t, err)
			continue
		}
		w, err := z.CreateRaw(h)
		must(t, err)
		_, err = w.Write(e.data)
		must(t, err)
	}
	must(t, z.Close())
	return b.Bytes()
}

// packed deflates an entry and what follows it, and says in the header what it
// holds. All that follows is packed alike, so that is done once.
func (e entry) packed(t testing.TB, h *zip.FileHeader) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.DefaultCompression)
	must(t, err)
	_, err = w.Write(e.data)
	must(t, err)
	breaks := bytes.Repeat([]byte("\n"), 1<<20)
	part := 0
	for range 2 { // the second looks back at the first, like all others
		must(t, w.Flush())
		part = b.Len()
		_, err = w.Write(breaks)
		must(t, err)
	}
	must(t, w.Flush())
	again := bytes.Repeat(b.Bytes()[part:], e.more-2)
	b.Write(again)
	must(t, w.Close())
	sum := crc32.NewIEEE()
	_, _ = sum.Write(e.data)
	for range e.more {
		_, _ = sum.Write(breaks)
	}
	h.Method, h.CRC32 = zip.Deflate, sum.Sum32()
	h.UncompressedSize64, h.CompressedSize64 = uint64(len(e.data)+e.more<<20), uint64(b.Len())
	return b.Bytes()
}

func (a archive) clone() archive {
	out := slices.Clone(a)
	for i := range out {
		out[i].data = slices.Clone(out[i].data)
	}
	return out
}

func (a archive) index(name string) int {
	return slices.IndexFunc(a, func(e entry) bool { return strings.HasPrefix(e.name, name) })
}

func (a archive) text(name string) string { return string(a[a.index(name)].data) }

func (a archive) with(name, text string) archive {
	out := a.clone()
	out[out.index(name)].data = []byte(text)
	return out
}

var (
	listOf = regexp.MustCompile(`"list":"sha256:[0-9a-f]{64}"`)
	planOf = regexp.MustCompile(`"plan":"sha256:[0-9a-f]{64}"`)
)

// sealed has another list under a digest that fits again, where it is one.
func (a archive) sealed(list string) archive {
	l, ds := step.Parse("list.steps", []byte(list))
	if ds.HasErrors() {
		return a.with("list.steps", list)
	}
	var canonical strings.Builder
	if step.Print(&canonical, l, step.PrintOptions{Source: true}) == nil && len(list)%2 == 0 {
		list = canonical.String()
	}
	return a.with("list.steps", list).with("plan.json",
		listOf.ReplaceAllString(a.text("plan.json"), fmt.Sprintf(`"list":%q`, l.Digest())))
}

// holding has one more blob and a list that names it.
func (a archive) holding(e entry, line string) archive {
	out := append(a.sealed(a.text("list.steps")+line+"\n"), e)
	return out
}

func blobOf(data []byte, method uint16) entry {
	return entry{name: fmt.Sprintf("blobs/%x", sha256.Sum256(data)), method: method, data: data}
}

// bombs are small and ask for much.
func (a archive) bombs() map[string]archive {
	zeros := make([]byte, 16<<20)
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(zeros))
	states := func(s string, n int) string {
		return strings.TrimSuffix(a.text("plan.json"), "}") + `,"states":[` + strings.Repeat(s+",", n) + s + "]}"
	}
	var many archive
	for i := range 200_000 {
		many = append(many, entry{name: fmt.Sprint("blobs/", i)})
	}
	var full strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&full, "MKDIR /srv/%d\n", i)
	}
	return map[string]archive{
		"600 MiB of plan.json":     a.with("plan.json", "").followed("plan.json", 600),
		"600 MiB of list":          a.with("list.steps", "").followed("list.steps", 600),
		"600 MiB behind plan.json": a.followed("plan.json", 600), "600 MiB behind the list": a.followed("list.steps", 600),
		"a packed blob":     a.holding(blobOf(zeros, zip.Deflate), "COPY "+digest+" /srv/zeros"),
		"states of nothing": a.with("plan.json", states("{}", 300_000)),
		"states of empty addresses": a.with("plan.json",
			states(`{"id":"x","source":"","addrs":[`+strings.Repeat(`"",`, 250_000)+`""]}`, 0)),
		"nesting":        a.with("plan.json", strings.Repeat("[", 900_000)),
		"nested objects": a.with("plan.json", strings.Repeat(`{"plan":`, 100_000)),
		"nested states":  a.with("plan.json", states(strings.Repeat("[", 500_000), 0)),
		"200,000 files":  append(a.clone(), many...), "60,000 directories": a.sealed(full.String()),
		"states beyond a list": a.sealed(full.String()).with("plan.json", states("{}", 2_000_000)),
		"a number": a.with("plan.json", strings.Replace(a.text("plan.json"), `"verify":false`,
			`"verify":1e999999999`, 1)),
		"a long name":           append(a.clone(), entry{name: strings.Repeat("x/", 32_000)}),
		"a lie about plan.json": a.lying("plan.json", 1<<62), "a lie about the list": a.lying("list.steps", 1<<40),
		"a lie about a blob": a.lying("blobs/", 1<<40), "a small lie": a.lying("list.steps", 7),
	}
}

func (a archive) followed(name string, more int) archive {
	out := a.clone()
	out[out.index(name)].more = more
	return out
}

func (a archive) lying(name string, size uint64) archive {
	out := a.clone()
	i := out.index(name)
	out[i].size, out[i].method = size, zip.Store
	return out
}

// strange are archives with other members than a plan has.
func (a archive) strange(evil string) map[string]archive {
	out := map[string]archive{}
	digest := strings.Repeat("a", 64)
	for _, name := range []string{"../x", "../../outside/secret", "/etc/x", "/", "", ".", "blobs/", "blobs/../plan.json",
		"blobs/../../x", "blobs/" + digest + "/", "blobs/" + strings.ToUpper(digest), "blobs/" + digest,
		"blobs/" + digest + "\x00", "./plan.json", "plan.json/", "PLAN.JSON", "list.steps/x", "x\x1b[31m", "\u202eplan",
		"C:\\x", "..\\x", "blobs\\x", "extra"} {
		out[fmt.Sprintf("a member %q", name)] = append(a.clone(), entry{name: name, data: []byte("x")})
		out[fmt.Sprintf("a first member %q", name)] = append(archive{{name: name, data: []byte("x")}}, a...)
	}
	for i, e := range a {
		out[e.name+" is missing"] = slices.Delete(a.clone(), i, i+1)
		out[e.name+" twice"] = append(a.clone(), e)
		out[e.name+" twice, another"] = append(a.clone(), entry{name: e.name, data: []byte("RM /srv\n")})
		out[e.name+" twice, another first"] = append(archive{{name: e.name, data: []byte("RM /srv\n")}}, a...)
		out[e.name+" is empty"] = a.with(e.name, "")
		out[e.name+" has a byte more"] = a.with(e.name, string(e.data)+"\n")
		other := a.clone()
		other[i].data = a[(i+1)%len(a)].data
		out[e.name+" holds another"] = other
		renamed := a.clone()
		renamed[i].name = "x" + e.name
		out[e.name+" is renamed"] = renamed
		method := a.clone()
		method[i].method, method[i].size = 12, uint64(len(e.data))
		out[e.name+" is packed otherwise"] = method
	}
	for name, line := range ordered(hostileLines(evil)) {
		out["sealed: "+name] = a.sealed(a.text("list.steps") + line + "\n")
		out["sealed, first: "+name] = a.sealed(line + "\n" + a.text("list.steps"))
		out["not sealed: "+name] = a.with("list.steps", a.text("list.steps")+line+"\n")
		out["sealed, alone: "+name] = a.sealed(line + "\n")
	}
	stuff := []byte("theirs")
	out["one more file"] = a.holding(blobOf(stuff, zip.Store),
		fmt.Sprintf("COPY sha256:%x /srv/theirs", sha256.Sum256(stuff)))
	out["content that nobody names"] = append(a.clone(), blobOf(stuff, zip.Store))
	return out
}

// hostileLines are steps that the plan of the archive does not have.
func hostileLines(evil string) map[string]string {
	return map[string]string{
		"a command": "EXEC x " + evil + " exec", "an action": "ACT run x " + evil + " act on=file:/srv/www",
		"a check":         "CHECK c exec=" + fmt.Sprintf("%q", evil),
		"a validation":    "EDIT /etc/hosts line=x validate=" + fmt.Sprintf("%q", evil),
		"out of the root": "MKDIR /../../outside/x", "two spellings": "MKDIR /srv//www", "the whole machine": "RM /",
		"a tree of the machine": "RM /etc", "the state": "RM /var/lib/fettle", "the kernel": "MKDIR /proc/x",
		"a package": "PKG evil",
		"a user":    "USER evil uid=0", "an include": "INCLUDE /etc/passwd", "an include out": "INCLUDE ../../outside/list",
		"a source": "COPY ../../outside/secret /srv/x", "another source": "COPY /etc/shadow /srv/x",
		"missing content": "COPY sha256:" + strings.Repeat("0", 64) + " /srv/x",
		"a link":          "LINK ../../../outside /srv/l", "below a link": "LINK / /srv/l\nMKDIR /srv/l/x",
		"twice": "MKDIR /srv/www", "a comment": "# nothing", "a false place": "MKDIR /srv/x #@ ../../outside/secret:1",
		"colours": "MKDIR \"/srv/\\x1b[31m\"", "an unknown verb": "FORMAT /", "a directory": "MKDIR /srv/theirs mode=4777",
	}
}

// texts are other texts of plan.json.
func (a archive) texts() map[string]string {
	out := map[string]string{}
	text := a.text("plan.json")
	key := regexp.MustCompile(`"([a-z_]+)":("(?:[^"\\]|\\.)*"|true|false|\d+)`)
	for i, m := range key.FindAllStringIndex(text, 60) {
		field, value, _ := strings.Cut(text[m[0]:m[1]], ":")
		for n, v := range []string{`null`, `""`, `-1`, `[]`, `{}`, `"../../outside"`, `"\u001b[31m\u202e"`,
			`"` + strings.Repeat("x", 5000) + `"`, `true`, `"sha256:` + strings.Repeat("0", 64) + `"`,
			value + `,` + field + `:` + value, value + `,"more":1`, strings.ToUpper(value),
			value + `,` + strings.ToUpper(field) + `:` + value, `"undo"`, `"explode"`} {
			out[fmt.Sprintf("%s %d is %d", field, i, n)] = text[:m[0]] + field + ":" + v + text[m[1]:]
		}
		out[fmt.Sprintf("%s %d is gone", field, i)] = strings.Replace(strings.Replace(text[:m[0]]+text[m[1]:], ",,", ",",
			1), "{,", "{", 1)
	}
	for i, s := range []string{text + text, text + " ", " " + text, "\ufeff" + text, "[" + text + "]", "null", "{}", "",
		text[:len(text)/2], strings.ReplaceAll(text, ",", ", "),
		strings.Replace(text, "{", `{"policy":{"on_failure":"undo"},`, 1),
		strings.Replace(text, `"policy":{`, `"policy":{"on_crash":"explode"`, 1),
		strings.Replace(text, `"addrs":["`, `"addrs":["exec:evil","`, 1),
		strings.Replace(text, `"addrs":["`, `"addrs":["file:/../x","`, 1),
		strings.Replace(text, `"id":"`, `"id":"`+`\u001b]0;x`, 1), strings.Replace(text, "saved-plan/2", "saved-plan/1", 1),
		strings.Replace(text, "saved-plan/2", "saved-plan/3", 1),
		planOf.ReplaceAllString(text, `"plan":"sha256:`+strings.Repeat("0", 64)+`"`),
		planOf.ReplaceAllString(text, `"plan":""`), planOf.ReplaceAllString(text, `"plan":{"changes":[]}`)} {
		out[fmt.Sprintf("text %d", i)] = s
	}
	return out
}

// random breaks an archive anywhere, or takes it apart and seals it again.
func (a archive) random(t testing.TB, rng *rand.Rand, whole []byte) (name string, b []byte) {
	b = slices.Clone(whole)
	i := rng.IntN(len(b))
	switch rng.IntN(8) {
	case 0:
		for range 1 + rng.IntN(4) {
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		}
		return "flipped", b
	case 1:
		return fmt.Sprintf("cut at %d", i), b[:i]
	case 2:
		clear(b[i:min(len(b), i+rng.IntN(300))])
		return "zeroed", b
	case 3:
		return "something before it", append(bytes.Repeat([]byte("x"), rng.IntN(3000)), b...)
	case 4: // in the directory at the end
		for range 1 + rng.IntN(3) {
			at := len(b) - 1 - rng.IntN(min(len(b), 600))
			binary.LittleEndian.PutUint16(b[at-1:], uint16(rng.IntN(1<<16)))
		}
		return "another directory", b
	case 5:
		e := a[rng.IntN(len(a))].name
		return "mutated " + e, a.with(e, mutate(rng, a.text(e), []string{a.text("list.steps"), a.text("plan.json")})).bytes(t)
	case 6:
		return "mutated and sealed", a.sealed(mutate(rng, a.text("list.steps"), goodLists())).bytes(t)
	default:
		lines := strings.SplitAfter(a.text("list.steps"), "\n")
		lines = lines[:len(lines)-1]
		x, y := rng.IntN(len(lines)), rng.IntN(len(lines))
		if lines[x], lines[y] = lines[y], lines[x]; x == y {
			lines = slices.Delete(lines, x, x+1)
		}
		return "another order", a.sealed(strings.Join(lines, "")).bytes(t)
	}
}

// TestPacked reads back what is packed without being in memory.
func TestPacked(t *testing.T) {
	for _, e := range unzip(t, archive{{name: "x", method: zip.Deflate, data: []byte("begin"), more: 5}}.bytes(t)) {
		if want := "begin" + strings.Repeat("\n", 5<<20); string(e.data) != want {
			t.Errorf("it holds %d bytes, not %d", len(e.data), len(want))
		}
	}
}
