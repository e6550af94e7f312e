import { expect, it } from "vitest";
import { passesMemoryOn } from "./native-site.ts";

it.each([
  ["xmalloc", true],
  ["_ZL7xmallocm", true],
  ["xmalloc(unsigned long)", true],
  ["operator new(unsigned long)", true],
  ["_Znwm", true],
  ["_ZN4Pool8allocateEm", true],
  ["_ZN4tool4Pool5alloc17h0123456789abcdefE", true],
  ["_ZN9Allocated3addEi", false],
  ["g_strdup", true],
  ["_ZNSt6vectorIdSaIdEE17_M_realloc_insertIJRKdEEEvv", true],
  ["_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6lengthEv", true],
  ["_ZN5alloc7raw_vec11finish_grow17h0123456789abcdefE", true],
  ["_RNvMs10_NtNtCslNYArtu3iFV_5alloc7raw_vec6RawVec8grow_one", true],
  ["remember", false],
  ["_ZL8rememberRKSt6vectorIdSaIdEE", false],
  ["_ZN5Index3addERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", false],
  ["remember(std::vector<double, std::allocator<double> > const&)", false],
  ["_RINvCs1234_4tool3addNtNtCslNYArtu3iFV_5alloc6string6StringE", false],
  ["", false],
])("whether %s only makes memory for its caller: %s", (symbol, passesOn) => {
  expect(passesMemoryOn(symbol)).toBe(passesOn);
});
