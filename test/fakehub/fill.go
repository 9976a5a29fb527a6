package fakehub

import (
	"reflect"
	"strconv"
)

// crowd sets all fields of a document. Its lists have n items, whose texts end with their numbers.
func crowd(doc reflect.Value, text string, n int) {
	for i := range doc.NumField() {
		field := doc.Field(i)
		switch {
		case !doc.Type().Field(i).IsExported():
		case field.Kind() != reflect.Slice:
			fill(field, text, 0)
		default:
			field.Set(reflect.MakeSlice(field.Type(), n, n))
			for i := range n {
				fill(field.Index(i), text+strconv.Itoa(i), 0)
			}
		}
	}
}

// fill sets all fields of a value. Values that contain themselves end at a depth of 8.
func fill(v reflect.Value, text string, depth int) {
	if depth > 8 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint64:
		v.SetUint(7)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i), text, depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text, depth+1)
		fill(value, text, depth+1)
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), text, depth+1)
			}
		}
	}
}
