package image_test

import (
	"reflect"
	"testing"

	"fettle.dev/fettle/internal/image"
)

// filled returns a T with a different value in every field, so that a new field cannot be forgotten.
func filled[T any](t *testing.T) *T {
	out, n := new(T), 0
	fill(t, reflect.ValueOf(out).Elem(), "v", &n)
	return out
}

func fill(t *testing.T, v reflect.Value, name string, n *int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(name + " <é> \u2028")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(t, v.Index(i), name, n)
		}
	case reflect.Map:
		one := reflect.New(v.Type().Elem()).Elem()
		fill(t, one, name, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key "+name), one)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), name, n)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), v.Type().Field(i).Name, n)
		}
	default:
		t.Fatalf("cannot fill a %s", v.Type())
	}
}

// recorded is an image without the properties that only an observation has.
func recorded(i image.Image) image.Image {
	if i.Unit() == nil {
		return i
	}
	u := *i.Unit()
	u.Restarting = false
	return image.Of(&u)
}
