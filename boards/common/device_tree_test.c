// Reads a device tree as QEMU passes it, and damaged versions of it.
#include "boards/common/device_tree.c"

#include "boards/common/fake_device_tree.h"
#include "runtime_bm/base/memory.h"
#include "runtime_bm/testing/bm_test.h"

static uint32_t with(uint32_t offset, uint8_t value) {
  static _Alignas(4) uint8_t tree[sizeof(fake_device_tree)];
  memcpy(tree, fake_device_tree, sizeof(fake_device_tree));
  tree[offset] = value;
  return bm_device_tree_timebase(tree);
}

static void finds_the_timebase(void) { BM_EXPECT_EQ(with(0, 0xd0), 10000000); }

static void says_nothing_of_what_is_damaged(void) {
  BM_EXPECT(bm_device_tree_timebase(NULL) == 0);
  BM_EXPECT(with(0, 0xd1) == 0);   // magic
  BM_EXPECT(with(5, 0xff) == 0);   // impossibly large
  BM_EXPECT(with(10, 0xff) == 0);  // structure outside
  BM_EXPECT(with(14, 0xff) == 0);  // strings outside
  BM_EXPECT(with(35, 1) == 0);     // strings cut short
  BM_EXPECT(with(39, 20) == 0);    // structure cut short
  BM_EXPECT(with(39, 52) == 0);    // structure cut before the value
  BM_EXPECT(with(43, 9) == 0);     // an unknown token
  BM_EXPECT(with(51, 9) == 0);     // another, before tokens that are known
  BM_EXPECT(with(53, 0xff) == 0);  // a property that never ends
  BM_EXPECT(with(88, 0xff) == 0);  // a name outside
  BM_EXPECT(with(108, 'T') == 0);  // another name
  BM_EXPECT(with(125, 'Y') == 0);  // a name that begins alike
  BM_EXPECT(with(126, 's') == 0);  // a longer name
}

// Whatever value a byte has, nothing outside is read.
static void survives_every_changed_byte(void) {
  for (uint32_t i = 0; i < sizeof(fake_device_tree); ++i) {
    for (uint32_t value = 0; value < 256; value += 5) {
      (void)with(i, (uint8_t)value);
    }
  }
}

int main(void) {
  BM_TEST(finds_the_timebase);
  BM_TEST(says_nothing_of_what_is_damaged);
  BM_TEST(survives_every_changed_byte);
  return bm_test_end();
}
