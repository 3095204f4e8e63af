#include "api/upload_token.h"

#include <string.h>

#include "base/cleanup.h"
#include "tests/support/test.h"

#define END_MS ((int64_t)1800000000000)
#define UPLOAD_ID "123e4567-e89b-42d3-a456-426614174000"

static struct error error;

struct scene {
    struct upload_key key;
    struct binary_id id;
    struct upload_grant grant;
    char text[UPLOAD_TOKEN_TEXT_SIZE];
    struct upload_token token;
};

static void set_scene(struct scene *scene) {
    *scene = (struct scene){.id = {.kind = BINARY_ID_GNU, .text = "abcdef01"}};
    memset(scene->key.bytes, 7, sizeof(scene->key.bytes));
    scene->grant = (struct upload_grant){.tenant = "default",
                                         .upload_id = UPLOAD_ID,
                                         .id = &scene->id,
                                         .type = ARTIFACT_DEBUGINFO,
                                         .size = 1234,
                                         .end_ms = END_MS};
    upload_token_write(&scene->key, &scene->grant, scene->text);
    assert_int_equal(upload_token_read(span_cstr(scene->text), &scene->token, &error), ERR_OK);
}

static enum err check_at(const struct scene *scene, int64_t now_ms) {
    return upload_token_check(&scene->key, &scene->token, &scene->grant, now_ms, &error);
}

static void a_token_says_its_tenant_and_is_good_until_its_end(void **state) {
    (void)state;
    struct scene scene;
    set_scene(&scene);
    assert_string_equal(scene.token.tenant, "default");
    assert_int_equal(scene.token.end_ms, END_MS);
    assert_int_equal(check_at(&scene, END_MS - 1), ERR_OK);
    assert_int_equal(check_at(&scene, END_MS), ERR_DENIED);
    assert_non_null(strstr(error.text, "expired"));
}

static void a_token_needs_no_escapes_in_a_url(void **state) {
    (void)state;
    struct scene scene;
    char tenant[TENANT_NAME_MAX + 1];
    set_scene(&scene);
    scene.grant.tenant = tenant;
    for (size_t size = 1; size <= TENANT_NAME_MAX; size++) {
        memset(tenant, (int)(128 + size), size);
        tenant[size] = '\0';
        upload_token_write(&scene.key, &scene.grant, scene.text);
        assert_int_equal(strspn(scene.text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                            "0123456789-_"),
                         strlen(scene.text));
        assert_int_equal(upload_token_read(span_cstr(scene.text), &scene.token, &error), ERR_OK);
        assert_string_equal(scene.token.tenant, tenant);
        assert_int_equal(check_at(&scene, 0), ERR_OK);
    }
}

static void a_token_fits_nothing_but_what_it_was_written_for(void **state) {
    (void)state;
    struct scene scene;
    set_scene(&scene);
    struct upload_grant grants[] = {scene.grant, scene.grant, scene.grant, scene.grant,
                                    scene.grant};
    struct binary_id other_text = {.kind = BINARY_ID_GNU, .text = "abcdef02"};
    struct binary_id other_kind = {.kind = BINARY_ID_GO, .text = "abcdef01"};
    grants[0].upload_id = "123e4567-e89b-42d3-a456-426614174001";
    grants[1].id = &other_text;
    grants[2].id = &other_kind;
    grants[3].type = ARTIFACT_EXECUTABLE;
    grants[4].size++;
    for (size_t i = 0; i < ARRAY_SIZE(grants); i++) {
        scene.grant = grants[i];
        assert_int_equal(check_at(&scene, 0), ERR_DENIED);
    }
}

static void a_token_of_another_tenant_end_or_key_is_refused(void **state) {
    (void)state;
    struct scene scene;
    set_scene(&scene);
    scene.token.end_ms++;
    assert_int_equal(check_at(&scene, 0), ERR_DENIED);
    scene.token.end_ms--;
    strcpy(scene.token.tenant, "defaulu");
    assert_int_equal(check_at(&scene, 0), ERR_DENIED);
    strcpy(scene.token.tenant, "default");
    assert_int_equal(check_at(&scene, 0), ERR_OK);
    scene.key.bytes[31] ^= 1;
    assert_int_equal(check_at(&scene, 0), ERR_DENIED);
}

static void no_other_character_passes_anywhere_in_a_token(void **state) {
    (void)state;
    struct scene scene;
    set_scene(&scene);
    size_t size = strlen(scene.text);
    for (size_t i = 0; i < size; i++) {
        for (int c = 0; c < 256; c++) {
            char text[UPLOAD_TOKEN_TEXT_SIZE];
            memcpy(text, scene.text, sizeof(text));
            if ((char)c == text[i])
                continue;
            text[i] = (char)c;
            if (upload_token_read(span_of(text, size), &scene.token, &error) == ERR_OK)
                assert_int_equal(check_at(&scene, 0), ERR_DENIED);
            else
                assert_int_equal(error.code, ERR_DENIED);
        }
    }
}

static void a_text_that_is_no_token_is_refused(void **state) {
    (void)state;
    struct scene scene;
    set_scene(&scene);
    for (size_t size = 0; size < strlen(scene.text); size++)
        if (upload_token_read(span_of(scene.text, size), &scene.token, &error) == ERR_OK)
            assert_int_equal(check_at(&scene, 0), ERR_DENIED);
    char text[300];
    memset(text, 'A', sizeof(text));
    for (size_t size = 0; size <= sizeof(text); size++)
        assert_int_equal(upload_token_read(span_of(text, size), &scene.token, &error), ERR_DENIED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_says_its_tenant_and_is_good_until_its_end),
        cmocka_unit_test(a_token_needs_no_escapes_in_a_url),
        cmocka_unit_test(a_token_fits_nothing_but_what_it_was_written_for),
        cmocka_unit_test(a_token_of_another_tenant_end_or_key_is_refused),
        cmocka_unit_test(no_other_character_passes_anywhere_in_a_token),
        cmocka_unit_test(a_text_that_is_no_token_is_refused),
    };
    return cmocka_run_group_tests_name("upload_token", tests, NULL, NULL);
}
