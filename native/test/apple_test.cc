// What Apple's numbers mean; fetching them needs a Mac.
#include "../sources/apple/apple_numbers.h"

#include "harness.h"

using namespace stormlog;

TEST("Apple's memory in use is used, and what is allocated beyond it is the driver's") {
  Record record;
  CHECK(appleRecord(AppleMemory{3000, 5000}, 16000, record));
  CHECK_EQ(record.valid, 15);
  CHECK_EQ(record.v[0], 3000);
  CHECK_EQ(record.v[1], 16000);
  CHECK_EQ(record.v[2], 13000);
  CHECK_EQ(record.v[3], 2000);
}

TEST("Apple's missing numbers stay missing, and more in use than there is stays as it is") {
  Record nothing;
  CHECK(!appleRecord(AppleMemory{}, 16000, nothing));
  CHECK_EQ(nothing.valid, 0);
  Record allocated;
  CHECK(appleRecord(AppleMemory{-1, 5000}, 0, allocated));
  CHECK_EQ(allocated.valid, 1);
  CHECK_EQ(allocated.v[0], 5000);
  Record over;
  CHECK(appleRecord(AppleMemory{20000, -1}, 16000, over));
  CHECK_EQ(over.valid, 3);
  CHECK_EQ(over.v[0], 20000);
  Record zero;
  CHECK(appleRecord(AppleMemory{0, 0}, 16000, zero));
  CHECK_EQ(zero.valid, 15);
}

TEST("the graphics of a virtual Mac are known by their class or their name") {
  CHECK(isParavirtual("AppleParavirtGPU", ""));
  CHECK(isParavirtual("", "Apple Paravirtual device"));
  CHECK(!isParavirtual("AGXAcceleratorG14X", "Apple M2 Max"));
}
