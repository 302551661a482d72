"""The named table of real systems: its names, its aliases, where each is read off."""

# ruff: noqa: SIM905  # names stand as text, as they are read
import re
from pathlib import Path

import pytest
from tests.named import ready, width

from posenc import Convention, conventions
from posenc.convention import SUBJECTS, resolve, systems
from posenc.errors import ConventionError, UnknownConventionError
from posenc.recipes import RECIPES

SYSTEMS = Path(__file__).parent / "data" / "systems"
# Names that somebody has written down somewhere: none may go.
NAMES = {
    "text": """
        transformer tensor2tensor fairseq marian openai-whisper musicgen positional-encodings
        annotated-transformer x-transformers xlm distilbert hf-whisper m2m100 audiocraft diffusers-1d
        diffusers-sinusoidal espnet fairseq2 flax-gemma flax-lm1b flax-nlp-seq flax-wmt flaxformer gpt-neox
        autoformer bros ctrl florence2 fsmt gptj informer patchtst pegasus pegasus-x roformer speech2text
        speecht5 time-series-transformer timesfm timesfm-min4 trocr videomae xglm informer2020 jadore
        joeynmt keras-hub labml-nn lex-glue-hierbert maxtext opennmt-py-concat opennmt-py
        pytorch-lm-tutorial pytorch-word-language-model simplepe sockeye speechbrain
        tensor2tensor-given-position tensor2tensor-min4-start3 tensorflow-text-tutorial simple-vit-1d
        kimi-k25-time
    """.split(),
    "timestep": """
        ddpm-timestep stable-diffusion-timestep adm-timestep dit-timestep score-sde-timestep
        denoising-diffusion-pytorch diffusers-timestep-default diffusers-timestep-scaled pi0-timestep
    """.split(),
    "relative": """
        espnet-reverse espnet-relative gemma3n-audio-relative seamless-m4t-relative hf-transfo-xl
        xlnet-relative speechbrain-relposencxl transformer-xl
    """.split(),
    "image": """
        mae-2d detr-2d detr-2d-normalized simple-vit-2d timm-sincos2d-rev0-il0 big-vision-2d
        deformable-detr-2d deformable-detr-2d-normalized diffusers-2d dit-2d fairseq2-2d hf-detr-2d
        hf-detr-2d-normalized omdet-turbo-2d hf-vit-mae-2d mae-2d-cls positional-encodings-2d sam2-2d
        tensor2tensor-2d timm-sincos2d-rev0-il1 timm-sincos2d-rev1-il0 timm-sincos2d-rev1-il1
    """.split(),
    "video": """
        diffusers-3d fairseq2-3d
    """.split(),
    "volume": """
        positional-encodings-3d simple-vit-3d
    """.split(),
    "box": """
        gligen-box conditional-detr-coords
    """.split(),
    "fourier": """
        hf-perceiver nerf perceiver perceiver-pytorch pytorch3d timm-fourier-linear timm-fourier-log
    """.split(),
    "random": """
        gaussian-fourier sam
    """.split(),
    "rotary": """
        llama gptj-rotary gpt-neox-rotary cohere diffusers-rotary diffusers-rotary-half labml-rotary
        rotary-embedding-torch rotary-embedding-torch-ntk4-interp2 rotary-embedding-torch-pixel
        simplepe-rotary torchtune-rotary torchtune-llama3 x-transformers-rotary timm-axial-2d
        timm-axial-2d-half torchtune-vision-2d
    """.split(),
}
# Stems of records of real systems, and what else systems are called: alias, name.
ALIASES = dict(
    pair.split("=")
    for pair in """
        tensor2tensor-timing-signal-1d=tensor2tensor fairseq-sinusoidal=fairseq
        fairseq-sinusoidal-padded=fairseq hf-marian=marian hf-musicgen=musicgen
        positional-encodings-1d=positional-encodings x-transformers-scaled-sinusoidal=x-transformers
        hf-xlm=xlm flaubert=xlm hf-flaubert=xlm hf-distilbert=distilbert hf-m2m100=m2m100 nllb=m2m100
        nllb-moe=m2m100 hf-nllb-moe=m2m100 audiocraft-musicgen=audiocraft diffusers-1d-sincos=diffusers-1d
        diffusers-sinusoidal-positional-embedding=diffusers-sinusoidal espnet-positional-encoding=espnet
        fairseq2-sinusoidal=fairseq2 flax-gemma-add-positional-embedding=flax-gemma
        flaxformer-t5x-sinusoidal=flaxformer t5x=flaxformer gpt-neox-sinusoidal=gpt-neox
        hf-autoformer=autoformer hf-bros-1d=bros hf-ctrl=ctrl hf-florence2=florence2 hf-fsmt=fsmt
        hf-gptj-create-sinusoidal-positions=gptj hf-informer=informer hf-patchtst-sincos=patchtst
        hf-pegasus=pegasus hf-pegasus-x=pegasus-x hf-roformer=roformer hf-speech2text=speech2text
        hf-speecht5-scaled=speecht5 hf-time-series-transformer=time-series-transformer hf-timesfm=timesfm
        hf-timesfm-min4=timesfm-min4 hf-trocr=trocr hf-videomae=videomae hf-xglm=xglm
        jadore-aiayn-pytorch=jadore opennmt-py-interleaved=opennmt-py
        tensor2tensor-timing-signal-1d-min4-start3=tensor2tensor-min4-start3
        vit-pytorch-simple-vit-1d=simple-vit-1d diffusers-timestep-sd=stable-diffusion-timestep
        adm-guided-diffusion=adm-timestep guided-diffusion=adm-timestep hf-pi0-timestep=pi0-timestep
        espnet-positional-encoding-reverse=espnet-reverse espnet-rel-positional-encoding=espnet-relative
        hf-gemma3n-audio-rel=gemma3n-audio-relative hf-seamless-m4t-rel=seamless-m4t-relative
        hf-xlnet-relative=xlnet-relative mae-2d-sincos=mae-2d detr-sine-2d=detr-2d
        detr-sine-2d-normalized=detr-2d-normalized detr-sine-2d-padded=detr-2d-normalized
        vit-pytorch-simple-vit-2d=simple-vit-2d big-vision-posemb-sincos-2d=big-vision-2d
        deformable-detr-sine-2d=deformable-detr-2d
        deformable-detr-sine-2d-normalized=deformable-detr-2d-normalized diffusers-2d-sincos=diffusers-2d
        diffusers-2d-sincos-nonsquare=diffusers-2d dit-2d-sincos=dit-2d fairseq2-sinusoidal-2d=fairseq2-2d
        hf-detr-sine-2d=hf-detr-2d hf-detr-sine-2d-normalized=hf-detr-2d-normalized
        hf-omdet-turbo=omdet-turbo-2d hf-vit-mae-helper=hf-vit-mae-2d rt-detr-2d=hf-vit-mae-2d
        d-fine-2d=hf-vit-mae-2d aimv2-2d=hf-vit-mae-2d mae-2d-sincos-cls=mae-2d-cls sam2-sine-2d=sam2-2d
        tensor2tensor-timing-signal-nd=tensor2tensor-2d hf-kimi-k25-time=kimi-k25-time
        diffusers-3d-sincos=diffusers-3d fairseq2-sinusoidal-3d=fairseq2-3d
        vit-pytorch-simple-vit-3d=simple-vit-3d diffusers-gligen-box=gligen-box
        hf-conditional-detr-coords=conditional-detr-coords nerf-embedder=nerf perceiver-deepmind=perceiver
        pytorch3d-harmonic=pytorch3d diffusers-gaussian-fourier=gaussian-fourier
        sam-position-embedding-random=sam sam-random=sam
        rope-hf-llama=llama hf-llama=llama gpt-j=gptj-rotary rope-hf-gptj=gptj-rotary
        rope-hf-gpt-neox-partial=gpt-neox-rotary
        rope-hf-cohere=cohere rope-diffusers-interleaved=diffusers-rotary
        rope-diffusers-half=diffusers-rotary-half rope-labml=labml-rotary
        rope-rotary-embedding-torch=rotary-embedding-torch
        rope-rotary-embedding-torch-ntk4-interp2=rotary-embedding-torch-ntk4-interp2
        rope-rotary-embedding-torch-pixel-angles=rotary-embedding-torch-pixel rope-simplepe=simplepe-rotary
        rope-torchtune=torchtune-rotary rope-torchtune-llama3-scaled=torchtune-llama3
        rope-x-transformers=x-transformers-rotary rope-timm-axial-2d=timm-axial-2d
        rope-timm-axial-2d-half=timm-axial-2d-half rope-torchtune-vision-2d=torchtune-vision-2d
    """.split()
)
# The systems of which outputs are known, as these outputs are called.
STEMS = """
    adm_guided_diffusion annotated_transformer audiocraft_musicgen ddpm_timestep denoising_diffusion_pytorch
    diffusers_1d_sincos diffusers_gaussian_fourier diffusers_sinusoidal_positional_embedding
    diffusers_timestep_default diffusers_timestep_scaled diffusers_timestep_sd dit_timestep
    espnet_positional_encoding espnet_positional_encoding_reverse espnet_rel_positional_encoding
    fairseq2_sinusoidal fairseq_sinusoidal fairseq_sinusoidal_padded flax_gemma_add_positional_embedding
    flax_lm1b flax_nlp_seq flax_wmt flaxformer_t5x_sinusoidal gpt_neox_sinusoidal hf_autoformer hf_bros_1d
    hf_ctrl hf_distilbert hf_florence2 hf_fsmt hf_gemma3n_audio_rel hf_gptj_create_sinusoidal_positions
    hf_informer hf_kimi_k25_time hf_m2m100 hf_marian hf_musicgen hf_patchtst_sincos hf_pegasus hf_pegasus_x
    hf_pi0_timestep hf_roformer hf_seamless_m4t_rel hf_speech2text hf_speecht5_scaled hf_time_series_transformer
    hf_timesfm hf_timesfm_min4 hf_transfo_xl hf_trocr hf_videomae hf_whisper hf_xglm hf_xlm hf_xlnet_relative
    informer2020 jadore_aiayn_pytorch joeynmt keras_hub labml_nn lex_glue_hierbert maxtext openai_whisper
    opennmt_py_concat opennmt_py_interleaved positional_encodings_1d pytorch_lm_tutorial
    pytorch_word_language_model score_sde_timestep simplepe sockeye speechbrain speechbrain_relposencxl
    tensor2tensor_given_position tensor2tensor_timing_signal_1d tensor2tensor_timing_signal_1d_min4_start3
    tensorflow_text_tutorial transformer_xl vit_pytorch_simple_vit_1d x_transformers_scaled_sinusoidal
    big_vision_posemb_sincos_2d deformable_detr_sine_2d deformable_detr_sine_2d_normalized detr_sine_2d
    detr_sine_2d_normalized diffusers_2d_sincos diffusers_2d_sincos_nonsquare diffusers_3d_sincos
    diffusers_gligen_box dit_2d_sincos fairseq2_sinusoidal_2d fairseq2_sinusoidal_3d hf_conditional_detr_coords
    hf_detr_sine_2d hf_detr_sine_2d_normalized hf_omdet_turbo hf_perceiver hf_vit_mae_helper mae_2d_sincos
    mae_2d_sincos_cls nerf_embedder perceiver_deepmind perceiver_pytorch positional_encodings_2d
    positional_encodings_3d pytorch3d_harmonic sam2_sine_2d sam_position_embedding_random
    tensor2tensor_timing_signal_nd timm_fourier_linear timm_fourier_log timm_sincos2d_rev0_il0
    timm_sincos2d_rev0_il1 timm_sincos2d_rev1_il0 timm_sincos2d_rev1_il1 vit_pytorch_simple_vit_2d
    vit_pytorch_simple_vit_3d
""".split()


def test_the_names():
    found = {subject: [name for name, system in systems.items() if system.subject == subject] for subject in SUBJECTS}

    assert {subject: sorted(names) for subject, names in found.items()} == {f: sorted(n) for f, n in NAMES.items()}
    assert list(conventions) == list(systems)
    assert len(conventions) == sum(map(len, NAMES.values())) == 133


def test_the_aliases():
    assert {alias: system.name for system in systems.values() for alias in system.aliases} == ALIASES


def test_the_first_is_the_paper():
    assert next(iter(conventions)) == "transformer"
    assert conventions["transformer"] == Convention()


@pytest.mark.parametrize("name", conventions)
def test_a_convention_knows_its_name(name):
    assert conventions[name].name == name
    assert conventions[name].label == repr(name)
    assert resolve(name) is conventions[name]
    assert resolve(conventions[name]) is conventions[name]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)


@pytest.mark.parametrize("name", [*conventions, *ALIASES])
def test_underscores_and_aliases_are_found(name):
    canonical = ALIASES.get(name, name)

    assert conventions[name] is conventions[canonical]
    assert conventions[name.replace("-", "_")] is conventions[canonical]
    assert name.replace("-", "_") in conventions
    assert conventions.canonical(name.replace("-", "_")) == canonical


def test_every_output_of_a_system_is_found_by_its_name():
    for stem in STEMS:
        assert conventions[stem] is conventions[stem.replace("_", "-")]
    assert len(STEMS) == len(set(STEMS)) == 117


def test_every_output_of_a_rotation_is_found_by_its_name():
    stems = [path.stem for path in SYSTEMS.glob("rope_*.json") if not path.stem.startswith("rope_scaling")]
    # xPos scales by the position too, and is no convention.
    stems.remove("rope_rotary_embedding_torch_xpos")

    assert {systems[conventions.canonical(stem)].family for stem in stems} == {"rotary"}


def test_no_name_is_an_alias():
    assert not set(ALIASES) & set(conventions)


@pytest.mark.parametrize("name", ["", "Transformer", "fairsq", "no-such-thing", 5, None, ("transformer",), []])
def test_an_unknown_name_is_not_in_the_table(name):
    assert conventions.canonical(name) is None
    with pytest.raises(UnknownConventionError):
        conventions[name]
    if not isinstance(name, list):
        assert name not in conventions
        assert conventions.get(name) is None


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("fairsq", "fairseq"), ("whisper", "openai-whisper"), ("hf_xgml", "hf-xglm"), ("mae2d", "mae-2d")],
)
def test_the_nearest_name_is_offered(typed, meant):
    with pytest.raises(KeyError, match=repr(meant)):
        resolve(typed)


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        conventions["mine"] = Convention()


@pytest.mark.parametrize("name", systems)
def test_a_system_says_where_it_is_read_off(name):
    system = systems[name]

    assert (system.name, system.convention) == (name, conventions[name])
    assert ":" in system.source or "section" in system.source
    assert system.convention.released_as in RECIPES
    assert set(map(type, (system.source, system.version, system.note, system.mistake))) == {str}
    assert not re.search(r"https?:|/(home|tmp|root|usr)/", system.source)
    assert system.convention.arithmetic == "exact"


def test_known_mistakes_are_said():
    assert {name for name, system in systems.items() if system.mistake} == {
        "lex-glue-hierbert",
        "patchtst",
        "speechbrain-relposencxl",
        "timesfm",
        "timesfm-min4",
    }


@pytest.mark.parametrize("name", conventions)
def test_a_name_is_ready_for_some_width(name):
    convention = ready(name)
    plan = convention.plan(width(convention))

    assert plan.axes == max(1, len(convention.axes))
    assert plan.is_exact
    if name == "torchtune-llama3":
        with pytest.raises(ConventionError, match="no order of operations is recorded"):
            convention.as_released().plan(plan.dim)
    else:
        assert not convention.as_released().plan(plan.dim).is_exact
