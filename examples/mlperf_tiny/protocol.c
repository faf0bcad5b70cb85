#include "examples/mlperf_tiny/protocol.h"

#include "runtime_bm/base/text.h"

enum {
  WARMUPS = 10,          // of an `infer` that does not say
  NUMBER_DIGITS = 9,     // fit in 32 bits
  RESULT_DECIMALS = 8,   // a step of an int8 probability is 0.00390625
  PRINTED_PER_LINE = 8,  // by `db print`
};

// EEMBC's runner chooses its benchmark by this name.
static const char kProfile[] = "ULPMark for tinyML Firmware V0.0.1";

static void put(const mlperf_protocol_t *protocol, const bm_text_t *text) {
  protocol->device->write(text->bytes, text->size);
}

// Writes a line: `before`, a number and `after`.
static void say_number(const mlperf_protocol_t *protocol, const char *before,
                       uint64_t number, const char *after) {
  bm_text_t line;
  bm_text_clear(&line);
  bm_text_string(&line, before);
  bm_text_u64(&line, number);
  bm_text_string(&line, after);
  bm_text_string(&line, "\r\n");
  put(protocol, &line);
}

// Writes a line of three parts.
static void say(const mlperf_protocol_t *protocol, const char *before,
                const char *what, const char *after) {
  bm_text_t line;
  bm_text_clear(&line);
  bm_text_string(&line, before);
  bm_text_string(&line, what);
  bm_text_string(&line, after);
  bm_text_string(&line, "\r\n");
  put(protocol, &line);
}

static void refuse(const mlperf_protocol_t *protocol, const char *why) {
  say(protocol, "e-[", why, "]");
}

static void refuse_status(const mlperf_protocol_t *protocol, const char *what,
                          bm_status_t status) {
  bm_text_t line;
  bm_text_clear(&line);
  bm_text_string(&line, "e-[");
  bm_text_string(&line, what);
  bm_text_string(&line, ": ");
  bm_status_text(&line, status);
  bm_text_string(&line, "]\r\n");
  put(protocol, &line);
}

static bool is(const char *word, const char *name) {
  while (*word != '\0' && *word == *name) {
    ++word;
    ++name;
  }
  return *word == *name;
}

// Ends the next word of `*rest` and moves `*rest` behind it; "" if there is
// none.
static char *next_word(char **rest) {
  char *word = *rest;
  while (*word == ' ') ++word;
  char *end = word;
  while (*end != '\0' && *end != ' ') ++end;
  *rest = *end == '\0' ? end : end + 1;
  *end = '\0';
  return word;
}

static bool parse_number(const char *word, uint32_t *out_number) {
  uint32_t number = 0;
  uint32_t digits = 0;
  for (; word[digits] != '\0'; ++digits) {
    if (digits == NUMBER_DIGITS || word[digits] < '0' || word[digits] > '9') {
      return false;
    }
    number = number * 10 + (uint32_t)(word[digits] - '0');
  }
  *out_number = number;
  return digits > 0;
}

// Returns the digit's value, or -1.
static int32_t hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

static void say_time(const mlperf_protocol_t *protocol) {
  say_number(protocol, "m-lap-us-", protocol->device->microseconds(), "");
}

static void say_results(const mlperf_protocol_t *protocol) {
  if (!protocol->has_results) {
    refuse(protocol, "No results: 'infer' comes first");
    return;
  }
  bm_text_t text;
  bm_text_clear(&text);
  bm_text_string(&text, "m-results-[");
  for (uint32_t i = 0; i < protocol->device->result_count; ++i) {
    if (i > 0) bm_text_string(&text, ",");
    bm_text_fixed(&text, protocol->device->result(i), RESULT_DECIMALS);
    put(protocol, &text);
    bm_text_clear(&text);
  }
  bm_text_string(&text, "]\r\n");
  put(protocol, &text);
}

static bm_status_t infer(mlperf_protocol_t *protocol, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    BM_TRY(protocol->device->infer());
  }
  return bm_ok();
}

static bm_status_t measure(mlperf_protocol_t *protocol, uint32_t count,
                           uint32_t warmups) {
  BM_TRY(protocol->device->load());
  say_number(protocol, "m-warmup-start-", warmups, "");
  BM_TRY(infer(protocol, warmups));
  say(protocol, "m-warmup-done", "", "");
  say_number(protocol, "m-infer-start-", count, "");
  say_time(protocol);
  BM_TRY(infer(protocol, count));
  say_time(protocol);
  say(protocol, "m-infer-done", "", "");
  return bm_ok();
}

static void command_infer(mlperf_protocol_t *protocol, char *arguments) {
  uint32_t count = 1;
  uint32_t warmups = WARMUPS;
  const char *word = next_word(&arguments);
  if (*word != '\0' && (!parse_number(word, &count) || count == 0)) {
    refuse(protocol, "The number of inferences must be at least 1");
    return;
  }
  word = next_word(&arguments);
  if (*word != '\0' && !parse_number(word, &warmups)) {
    refuse(protocol, "The number of warmups must be a number");
    return;
  }
  const size_t want = protocol->device->input_bytes;
  if (protocol->loaded != want) {
    say_number(protocol, "e-[The input must have ", want, " bytes]");
    return;
  }
  protocol->has_results = false;
  const bm_status_t status = measure(protocol, count, warmups);
  if (!bm_status_is_ok(status)) {
    refuse_status(protocol, "The inference failed", status);
    return;
  }
  protocol->has_results = true;
  say_results(protocol);
}

static void command_db_load(mlperf_protocol_t *protocol, char *arguments) {
  uint32_t size;
  if (!parse_number(next_word(&arguments), &size) || size == 0) {
    refuse(protocol, "'db load' needs a number of bytes, at least 1");
    return;
  }
  if (size > protocol->device->input_bytes) {
    say_number(protocol, "e-[The input has at most ",
               protocol->device->input_bytes, " bytes]");
    return;
  }
  protocol->expected = size;
  protocol->loaded = 0;
  say_number(protocol, "m-[Expecting ", size, " bytes]");
}

static void command_db_print(const mlperf_protocol_t *protocol) {
  for (size_t at = 0; at < protocol->loaded; at += PRINTED_PER_LINE) {
    bm_text_t line;
    bm_text_clear(&line);
    bm_text_string(&line, "m-buffer");
    for (size_t i = at; i < protocol->loaded && i < at + PRINTED_PER_LINE;
         ++i) {
      bm_text_string(&line, "-");
      bm_text_hex(&line, protocol->device->input[i], 2);
    }
    bm_text_string(&line, "\r\n");
    put(protocol, &line);
  }
}

// Takes all bytes of the command or, if one of them is wrong, none.
static void command_db_bytes(mlperf_protocol_t *protocol, const char *digits) {
  size_t count = 0;
  while (digits[count] != '\0') {
    if (hex_digit(digits[count]) < 0) {
      const char digit[] = {digits[count], '\0'};
      say(protocol, "e-[Invalid hex digit '", digit, "']");
      return;
    }
    ++count;
  }
  if (count % 2 != 0) {
    refuse(protocol, "Insufficient number of hex digits");
    return;
  }
  if (count / 2 > protocol->expected - protocol->loaded) {
    say_number(protocol, "e-[More bytes than the ", protocol->expected,
               " that 'db load' announced]");
    return;
  }
  for (size_t i = 0; i < count; i += 2) {
    protocol->device->input[protocol->loaded++] =
        (uint8_t)(hex_digit(digits[i]) << 4 | hex_digit(digits[i + 1]));
  }
  if (protocol->loaded == protocol->expected) {
    say(protocol, "m-load-done", "", "");
  }
}

static void command_db(mlperf_protocol_t *protocol, char *arguments) {
  const char *word = next_word(&arguments);
  if (*word == '\0') {
    refuse(protocol, "'db' needs 'load', 'print' or bytes");
  } else if (is(word, "load")) {
    command_db_load(protocol, arguments);
  } else if (is(word, "print")) {
    command_db_print(protocol);
  } else {
    command_db_bytes(protocol, word);
  }
}

static void command_help(const mlperf_protocol_t *protocol) {
  static const char *const kLines[] = {
      "name          the device's name",
      "profile       the protocol's and the model's names",
      "timestamp     the time in microseconds",
      "db load N     begin an input of N bytes",
      "db HH[HH]*    its next bytes, in hex",
      "db print      the bytes so far",
      "infer N [W]   W runs (default 10) to warm up, then N measured ones",
      "results       the results of the last run",
  };
  for (uint32_t i = 0; i < sizeof(kLines) / sizeof(kLines[0]); ++i) {
    say(protocol, kLines[i], "", "");
  }
}

static void execute(mlperf_protocol_t *protocol, char *command) {
  const char *word = next_word(&command);
  if (is(word, "name")) {
    say(protocol, "m-name-dut-[", "ironcast", "]");
  } else if (is(word, "profile")) {
    say(protocol, "m-profile-[", kProfile, "]");
    say(protocol, "m-model-[", protocol->device->model, "]");
  } else if (is(word, "timestamp")) {
    say_time(protocol);
  } else if (is(word, "db")) {
    command_db(protocol, command);
  } else if (is(word, "infer")) {
    command_infer(protocol, command);
  } else if (is(word, "results")) {
    say_results(protocol);
  } else if (is(word, "help")) {
    command_help(protocol);
  } else {
    say(protocol, "e-[Unknown command: ", word, "]");
  }
}

void mlperf_start(mlperf_protocol_t *protocol, const mlperf_device_t *device) {
  protocol->device = device;
  protocol->expected = 0;
  protocol->loaded = 0;
  protocol->has_results = false;
  protocol->too_long = false;
  protocol->size = 0;
  say(protocol, "m-timestamp-mode-performance", "", "");
  say_time(protocol);
  say(protocol, "m-init-done", "", "");
  say(protocol, "m-ready", "", "");
}

void mlperf_receive(mlperf_protocol_t *protocol, uint8_t byte) {
  if (byte == '\r' || byte == '\n') return;
  if (byte != '%') {
    if (protocol->size == MLPERF_COMMAND_BYTES) {
      protocol->too_long = true;
    } else {
      // An answer may repeat a command: it must be printable.
      const bool printable = byte >= ' ' && byte <= '~';
      protocol->command[protocol->size++] = printable ? (char)byte : '?';
    }
    return;
  }
  protocol->command[protocol->size] = '\0';
  if (protocol->too_long) {
    say_number(protocol, "e-[A command has at most ", MLPERF_COMMAND_BYTES,
               " characters]");
  } else {
    execute(protocol, protocol->command);
  }
  protocol->size = 0;
  protocol->too_long = false;
  say(protocol, "m-ready", "", "");
}
