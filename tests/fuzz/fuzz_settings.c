/*
 * Property: whatever the file, it is refused with a text that begins with its name and changes
 * nothing, or it is taken; and what is then printed is read back as the same settings.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "api/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set_defaults(struct settings *settings) {
    struct error error;
    memset(settings, 0, sizeof(*settings));
    for (size_t i = 0; i < settings_count(); i++) {
        const struct setting *setting = settings_at(i);
        enum err err = ERR_OK;
        if (setting->fallback)
            err = setting_parse(setting, setting->fallback, &settings->options, &error);
        assert(err == ERR_OK);
    }
    settings->options.worker_count = 1;
}

static void assert_equal(const struct settings *a, const struct settings *b) {
    for (size_t i = 0; i < settings_count(); i++) {
        bool equal = setting_equal(settings_at(i), &a->options, &b->options);
        assert(equal);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct settings before, after, again;
    struct error error = {0};
    set_defaults(&before);
    set_defaults(&after);
    enum err err = settings_yaml_read("file", span_of(data, size), &after, &error);
    if (err != ERR_OK) {
        assert(err == ERR_INVALID && error.code == err);
        assert(strncmp(error.text, "file:", 5) == 0);
        assert_equal(&before, &after);
        return 0;
    }
    struct buffer text = {0};
    settings_print(&after, &text);
    set_defaults(&again);
    err = settings_yaml_read("again", buffer_span(&text), &again, &error);
    assert(err == ERR_OK);
    assert_equal(&after, &again);
    buffer_clear(&text);
    return 0;
}
