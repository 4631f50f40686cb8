package main

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// decodeConfig decodes values as leniently as the real loader: names are case-insensitive, unknown keys are ignored, types are
// converted if possible (a negative number wraps round in an unsigned field, a fraction is truncated).
//
// lookup returns environment variables, which have priority over the file.
func decodeConfig(c *Config, values map[string]any, lookup func(string) (string, bool)) error {
	d := decoder{lookup: lookup}
	d.structure(reflect.ValueOf(c).Elem(), lowerKeys(values), "")
	if len(d.errors) == 0 {
		return nil
	}
	return fmt.Errorf("%d error(s) decoding:\n\n* %s", len(d.errors), strings.Join(d.errors, "\n* "))
}

type decoder struct {
	lookup func(string) (string, bool)
	errors []string
}

func (d *decoder) structure(target reflect.Value, values map[string]any, path string) {
	for i := 0; i < target.NumField(); i++ {
		name := target.Type().Field(i).Name
		if path != "" {
			name = path + "." + name
		}
		value, given := values[strings.ToLower(target.Type().Field(i).Name)]
		field := target.Field(i)
		if _, isDuration := field.Interface().(Duration); !isDuration && field.Kind() == reflect.Struct {
			table, isTable := value.(map[string]any)
			if given && !isTable {
				d.fail(name, fmt.Sprintf("expected a map, got '%T'", value))
				continue
			}
			d.structure(field, table, name)
			continue
		}
		variable := envPrefix + "_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
		if text, set := d.lookup(variable); set && text != "" {
			value, given = text, true
		}
		if !given {
			continue
		}
		if err := setLeaf(field, value); err != nil {
			d.fail(name, err.Error())
		}
	}
}

func (d *decoder) fail(name, message string) {
	d.errors = append(d.errors, fmt.Sprintf("error decoding '%s': %s", name, message))
}

func setLeaf(field reflect.Value, value any) error {
	if _, isDuration := field.Interface().(Duration); isDuration {
		text, isText := value.(string)
		if !isText {
			return fmt.Errorf("expected a map, got '%T'", value)
		}
		duration, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		field.Set(reflect.ValueOf(Duration{duration}))
		return nil
	}
	unconvertible := fmt.Errorf("expected type '%s', got unconvertible type '%T'", field.Type(), value)
	switch field.Kind() {
	case reflect.String:
		text, ok := asText(value)
		if !ok {
			return unconvertible
		}
		field.SetString(text)
	case reflect.Bool:
		on, err := asBool(value)
		if err != nil {
			return err
		}
		field.SetBool(on)
	case reflect.Int, reflect.Int64:
		number, err := asNumber(value, func(text string) (int64, error) {
			return strconv.ParseInt(text, 0, 64)
		})
		if err != nil {
			return err
		}
		field.SetInt(number)
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		number, err := asNumber(value, func(text string) (int64, error) {
			whole, err := strconv.ParseUint(text, 0, 64)
			return int64(whole), err
		})
		if err != nil {
			return err
		}
		// Sign and overflow are silently lost: -1 is 2^64-1, and 2^32 is 0 in 32 bits.
		field.SetUint(uint64(number))
	case reflect.Float64:
		number, err := asFloat(value)
		if err != nil {
			return err
		}
		field.SetFloat(number)
	case reflect.Slice:
		list, ok := asList(value)
		if !ok {
			return unconvertible
		}
		field.Set(reflect.ValueOf(list))
	default:
		return unconvertible
	}
	return nil
}

func asText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		if v {
			return "1", true
		}
		return "0", true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

func asBool(value any) (bool, error) {
	switch v := value.(type) {
	case bool:
		return v, nil
	case int64:
		return v != 0, nil
	case float64:
		return v != 0, nil
	case string:
		if v == "" {
			return false, nil
		}
		return strconv.ParseBool(v)
	}
	return false, fmt.Errorf("expected type 'bool', got unconvertible type '%T'", value)
}

// asNumber returns a whole number; a fraction is truncated.
func asNumber(value any, parse func(string) (int64, error)) (int64, error) {
	switch v := value.(type) {
	case int64:
		return v, nil
	case float64:
		return int64(v), nil
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case string:
		if v == "" {
			return 0, nil
		}
		return parse(v)
	}
	return 0, fmt.Errorf("expected a number, got unconvertible type '%T'", value)
}

func asFloat(value any) (float64, error) {
	switch v := value.(type) {
	case float64:
		return v, nil
	case int64:
		return float64(v), nil
	case string:
		return strconv.ParseFloat(v, 64)
	}
	return 0, fmt.Errorf("expected a number, got unconvertible type '%T'", value)
}

func asList(value any) ([]string, bool) {
	switch v := value.(type) {
	case string:
		return strings.Split(v, ","), true
	case []any:
		list := make([]string, 0, len(v))
		for _, item := range v {
			text, ok := asText(item)
			if !ok {
				return nil, false
			}
			list = append(list, text)
		}
		return list, true
	}
	return nil, false
}

// lowerKeys converts all keys to lower case, also in nested tables.
func lowerKeys(values map[string]any) map[string]any {
	lowered := make(map[string]any, len(values))
	for key, value := range values {
		if table, ok := value.(map[string]any); ok {
			value = lowerKeys(table)
		}
		lowered[strings.ToLower(key)] = value
	}
	return lowered
}
