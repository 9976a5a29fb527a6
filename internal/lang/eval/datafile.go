package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"go.yaml.in/yaml/v4"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/front/yamlfront"
	"fettle.dev/fettle/internal/lang/functions"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// levelLayers returns the layers of one level: its data files in order, then its vars.
func levelLayers(ev *Evaluator, l *source.Level) ([]VariableLayer, bool) {
	merge, good := mergesOf(ev, l)
	var out []VariableLayer
	for _, f := range dataFiles(ev, l, &good) {
		values, ok := readDataFile(ev, f.name, f.rng)
		good = good && ok
		out = append(out, VariableLayer{name: f.name, values: values, merge: merge})
	}
	own, ok := LayerOf(ev, l.String(), l.Vars, l.Each)
	for name, v := range l.Given {
		own.values[name] = layerValue{val: v, rng: l.Range, text: v.Type() == cty.String}
	}
	own.merge = merge
	return append(out, own), good && ok
}

// dataName returns one name of a data list.
type dataName struct {
	name string
	rng  diag.Range
}

// dataFiles evaluates data = ["data/common.yaml", "data/${target.labels.env}.yaml"].
func dataFiles(ev *Evaluator, l *source.Level, good *bool) []dataName {
	if l.Data == nil {
		return nil
	}
	rng := syntax.RangeOf(l.Data.Expr.Range())
	v, _, ok := ev.eval(topScope(ev), l.Each.Each(), l.Data.Expr)
	if !ok {
		*good = false
		return nil
	}
	var out []dataName
	if v.IsNull() || !v.CanIterateElements() || v.Type().IsObjectType() || v.Type().IsMapType() {
		ev.Errorf(rng, "Bad list of data files", `data must be a list of paths: data = ["data/common.yaml"].`)
		*good = false
		return nil
	}
	for _, e := range v.AsValueSlice() {
		if e.IsNull() || e.Type() != cty.String {
			ev.Errorf(rng, "Bad list of data files",
				"Each element must be a string: the path of a file from the top of the repository.")
			*good = false
			continue
		}
		out = append(out, dataName{path.Clean(e.AsString()), rng})
	}
	return out
}

// readDataFile reads the variables of a file: HCL, YAML or JSON by its name.
func readDataFile(ev *Evaluator, name string, rng diag.Range) (map[string]layerValue, bool) {
	root := *ev.Program.Root.Directory
	root.Unseen = true
	if e, err := root.Stat(name); err == nil && e.Path != name {
		name = e.Path
	}
	src, err := root.ReadFile(name)
	if err != nil {
		ev.Errorf(rng, "Data file cannot be read",
			"%s If the file is optional, write: data = [for f in [%q] : f if fileexists(f)].", syntax.Sentence(err), name)
		return nil, false
	}
	ev.Program.Sources[name] = src
	if ds := syntax.Readable(src, name); ds.HasErrors() {
		ev.Add(ds...)
		return nil, false
	}
	switch path.Ext(name) {
	case ".hcl":
		return dataHCL(ev, name, src)
	case ".yaml", ".yml":
		return dataYAML(ev, name, src)
	case ".json":
		return dataJSON(ev, name, src)
	}
	ev.Errorf(rng, "Unknown type of data file",
		"The name %q does not end in .hcl, .yaml, .yml or .json. Rename the file.", name)
	return nil, false
}

// dataHCL reads a data file in HCL. Its values can use facts and target.
func dataHCL(ev *Evaluator, name string, src []byte) (map[string]layerValue, bool) {
	if ds := syntax.Guard(src, name, syntax.ConfigSyntax); ds.HasErrors() {
		ev.Add(ds...)
		return nil, false
	}
	f, hds := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	ev.Add(syntax.FromHCL(hds)...)
	if hds.HasErrors() {
		return nil, false
	}
	body := f.Body.(*hclsyntax.Body)
	syntax.CheckDivisions(body)
	ev.Program.Loops.Watch(body)
	for _, b := range body.Blocks {
		ev.Errorf(syntax.RangeOf(b.DefRange()), "Block in a data file",
			"A data file can contain only variables: name = value. Remove the block.")
	}
	out, good, top := map[string]layerValue{}, len(body.Blocks) == 0, topScope(ev)
	for _, a := range syntax.AttributeOrder(body.Attributes) {
		v, _, ok := ev.evalSecret(top, nil, a.Expr)
		good = good && ok
		if ok {
			out[a.Name] = layerValue{val: v, rng: syntax.RangeOf(a.NameRange), from: snapshotsOf(top.Directory, a.Expr)}
		}
	}
	return out, good
}

// place is the range of a name in a file.
func place(file string, line, column int, name string) diag.Range {
	return diag.Range{File: file, Start: diag.Pos{Line: line, Column: column},
		End: diag.Pos{Line: line, Column: column + len(name)}}
}

func dataYAML(ev *Evaluator, file string, src []byte) (map[string]layerValue, bool) {
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		message, line, column := yamlfront.ConfigError(err)
		ev.Errorf(place(file, line, column, ""), "Bad data file", "The file is not valid YAML: %s.", message)
		return nil, false
	}
	out := map[string]layerValue{}
	if len(doc.Content) == 0 {
		return out, true
	}
	top, good := doc.Content[0], true
	if top.Kind != yaml.MappingNode {
		ev.Errorf(place(file, top.Line, top.Column, ""), "Bad data file",
			"A data file must be a mapping of variables: name: value.")
		return nil, false
	}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, rng := top.Content[i].Value, place(file, top.Content[i].Line, top.Content[i].Column, top.Content[i].Value)
		var plain any
		err := top.Content[i+1].Decode(&plain)
		val := cty.NilVal
		if err == nil {
			val, err = functions.FromPlain(plain)
		}
		if err != nil {
			ev.Errorf(rng, "Bad value", "The value of %q cannot be used: %s.", key, err)
			good = false
			continue
		}
		good = dataValue(ev, out, key, layerValue{val: val, rng: rng}) && good
	}
	return out, good
}

// dataValue adds a value, and reports a name that occurs twice.
func dataValue(ev *Evaluator, out map[string]layerValue, key string, v layerValue) bool {
	if old, ok := out[key]; ok {
		ev.Errorf(v.rng, "Variable given twice", "The variable %q already has a value at %s. Remove one of the two.", key,
			old.rng)
		return false
	}
	out[key] = v
	return true
}

func dataJSON(ev *Evaluator, file string, src []byte) (map[string]layerValue, bool) {
	d := json.NewDecoder(bytes.NewReader(src))
	bad := func(at int64, err error) (map[string]layerValue, bool) {
		rng := offset(file, src, at)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			rng = offset(file, src, syntax.Offset)
		}
		ev.Errorf(rng, "Bad data file", "The file is not a JSON object: %s.", err)
		return nil, false
	}
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return bad(0, orElse(err, "it does not begin with {"))
	}
	out, good := map[string]layerValue{}, true
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return bad(d.InputOffset(), err)
		}
		key, _ := t.(string)
		rng := offset(file, src, d.InputOffset()-int64(len(key))-2)
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return bad(d.InputOffset(), err)
		}
		typ, err := ctyjson.ImpliedType(raw)
		val := cty.NilVal
		if err == nil {
			val, err = ctyjson.Unmarshal(raw, typ)
		}
		if err != nil {
			return bad(d.InputOffset(), err)
		}
		good = dataValue(ev, out, key, layerValue{val: val, rng: rng}) && good
	}
	if _, err := d.Token(); err != nil {
		return bad(d.InputOffset(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return bad(d.InputOffset(), orElse(nil, "something follows the object"))
	}
	return out, good
}

func orElse(err error, text string) error {
	if err != nil {
		return err
	}
	return errors.New(text)
}

// offset returns the position of a byte.
func offset(file string, src []byte, at int64) diag.Range {
	before := src[:max(0, min(at, int64(len(src))))]
	line := bytes.Count(before, []byte("\n")) + 1
	return place(file, line, len(before)-bytes.LastIndexByte(before, '\n'), "")
}
