package route

import (
	"net/url"
	"reflect"
	"strings"
)

// Address returns the path and the query of a request. A hub accepts exactly this spelling.
func (r Route[A, In, Out]) Address(at A) string {
	values := url.Values{}
	segments := strings.Split(r.Path, "/")
	for f, v := range fieldsOf(reflect.ValueOf(&at).Elem()) {
		texts := textsOf(v)
		switch {
		case !f.inPath && len(texts) > 0:
			values[f.Name] = texts
		case f.inPath:
			for i, s := range segments {
				if s == "{"+f.Name+"}" {
					segments[i] = url.PathEscape(strings.Join(texts, ""))
				}
			}
		}
	}
	address := strings.Join(segments, "/")
	if len(values) > 0 {
		address += "?" + values.Encode()
	}
	return address
}

// Values returns the values of a request, from the values that Match returns for its path, and from
// its query. The error is a *document.Problem.
func (r Route[A, In, Out]) Values(path map[string]string, query map[string][]string) (A, error) {
	var at A
	for f, v := range fieldsOf(reflect.ValueOf(&at).Elem()) {
		texts := query[f.Name]
		if f.inPath {
			texts = []string{path[f.Name]}
		}
		if err := set(v, f.Name, texts); err != nil {
			return at, err
		}
	}
	return at, nil
}

// Match matches the unescaped segments of a path, and returns the values in it.
func (r Row) Match(segments []string) (map[string]string, bool) {
	want := strings.Split(r.Path[1:], "/")
	if len(want) != len(segments) {
		return nil, false
	}
	out := map[string]string{}
	for i, w := range want {
		name, isValue := strings.CutPrefix(w, "{")
		switch {
		case isValue:
			out[strings.TrimSuffix(name, "}")] = segments[i]
		case w != segments[i]:
			return nil, false
		}
	}
	return out, true
}
