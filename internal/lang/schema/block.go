package schema

import (
	"reflect"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/kind"
)

// The types of attributes whose source form matters instead of their value. No value of the
// language has such a type.
var (
	plain      = cty.Capsule("constant string", reflect.TypeFor[plainType]())
	mapping    = cty.Capsule("mapping", reflect.TypeFor[mappingType]())
	sequence   = cty.Capsule("list of strings", reflect.TypeFor[sequenceType]())
	reference  = cty.Capsule("references", reflect.TypeFor[referenceType]())
	expression = cty.Capsule("expression", reflect.TypeFor[expressionType]())
	condition  = cty.Capsule("condition", reflect.TypeFor[conditionType]())
	listen     = cty.Capsule("references by action", reflect.TypeFor[listenType]())
	nameOrList = cty.Capsule("name or list of names", reflect.TypeFor[nameOrListType]())
	// madeMapping and madeSequence are mapping and sequence in a block with for_each, where an expression can also give
	// the whole value.
	madeMapping  = cty.Capsule("mapping", reflect.TypeFor[madeMappingType]())
	madeSequence = cty.Capsule("list of strings", reflect.TypeFor[madeSequenceType]())
)

type (
	plainType      struct{}
	mappingType    struct{}
	sequenceType   struct{}
	referenceType  struct{}
	expressionType struct{}
	conditionType  struct{}
	listenType     struct{}
	nameOrListType struct{}

	madeMappingType  struct{}
	madeSequenceType struct{}
)

// Block is a block of the language that is not a state.
type Block struct {
	Name, Doc string
	// Label is the description of the label, "" for a block without a label.
	Label string
	Attrs []kind.Attr
	// Inside are the blocks that it can contain. States is set if it can also contain states.
	Inside []string
	States bool
	// names is set if the writer of the block chooses the attribute names.
	names bool
	// oneOf are attributes of which at least one is required.
	oneOf []string
	// needs are blocks that it must contain.
	needs []string
}

func docAttr() kind.Attr { return plainText("description", "short description") }

func durationOf(name, doc string) kind.Attr { return kind.Attr{Name: name, Type: cty.String, Doc: doc} }

// plainText returns an attribute whose value must be constant, because it is read before any value
// is known.
func plainText(name, doc string, oneOf ...string) kind.Attr {
	return kind.Attr{Name: name, Type: plain, Doc: doc, OneOf: oneOf}
}

func varsAttr(doc string) kind.Attr {
	return kind.Attr{Name: "vars", Type: mapping, Doc: doc}
}

func dataAttr() kind.Attr {
	return kind.Attr{Name: "data", Type: cty.List(cty.String),
		Doc: "files of variables, paths from the top of the repository; later files have precedence"}
}

func mergesAttr() kind.Attr {
	return kind.Attr{Name: "merge", Type: mapping, OneOf: mergeWords(),
		Doc: "merge of values with values of lower levels, by name of the variable"}
}

// mergeWords are the methods to merge a value with lower values.
func mergeWords() []string { return []string{"replace", "shallow", "deep"} }
